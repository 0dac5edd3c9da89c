"""Claims: the JWTs of operators, accounts, users, activations and authorizations.

Knows how tokens are read, checked and signed; not who is trusted, nor what follows from a claim.
"""

from framework_auth.claims.account import (
    AccountClaims,
    Callout,
    Scope,
)
from framework_auth.claims.account_imports import AccountExport, AccountImport
from framework_auth.claims.activation import ActivationClaims
from framework_auth.claims.authorization import AuthorizationRequest, AuthorizationResponse
from framework_auth.claims.errors import ClaimsError, ExpiredError, RevokedError
from framework_auth.claims.operator import OperatorClaims
from framework_auth.claims.reading import Claims, read_claims, read_claims_of
from framework_auth.claims.standard import GenericClaims, Standard
from framework_auth.claims.token import Token, build_token, decode_token, undecorate
from framework_auth.claims.user import TimeRange, UserClaims, UserRules

__all__ = [
    "AccountClaims",
    "AccountExport",
    "AccountImport",
    "ActivationClaims",
    "AuthorizationRequest",
    "AuthorizationResponse",
    "Callout",
    "Claims",
    "ClaimsError",
    "ExpiredError",
    "GenericClaims",
    "OperatorClaims",
    "RevokedError",
    "Scope",
    "Standard",
    "TimeRange",
    "Token",
    "UserClaims",
    "UserRules",
    "build_token",
    "decode_token",
    "read_claims",
    "read_claims_of",
    "undecorate",
]
