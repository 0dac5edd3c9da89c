"""Says where `framework_port.h` is; all else is in pyproject.toml."""

from setuptools import Extension, setup

from framework.spec import include_folder

setup(
    ext_modules=[
        Extension(
            "framework_gate_utf8._utf8",
            ["src/framework_gate_utf8/_utf8.c"],
            include_dirs=[str(include_folder())],
            extra_compile_args=["-O3"],
        )
    ]
)
