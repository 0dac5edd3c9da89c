"""The format `nats` as Spark sees it. What it needs is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

    from pyspark_nats.options import ReadOptions, WriteOptions


class NatsDataSource(DataSource):
    """Reads streams of any NATS server with JetStream, and writes to them.

    Options are in the package's README; a wrong one is refused by name, with what is valid.
    """

    @classmethod
    def name(cls) -> str:
        """Return the word after `format`."""
        return "nats"

    def schema(self) -> StructType:
        """Return the columns of a read."""
        from pyspark_nats.schema import columns_of, schema_of  # noqa: PLC0415 - see the module
        from pyspark_nats.views import MESSAGES, TAP  # noqa: PLC0415 - as above

        options = self._read_options()
        headers = options.include_headers and options.view in {MESSAGES, TAP}
        columns = columns_of(options.view, options.columns, include_headers=headers)
        return schema_of(options.view, columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what plans a batch read."""
        from pyspark_nats.reader import NatsReader, PushdownNatsReader  # noqa: PLC0415 - as above
        from pyspark_nats.schema import check_schema  # noqa: PLC0415 - as above
        from pyspark_nats.snapshot import SnapshotReader  # noqa: PLC0415 - as above
        from pyspark_nats.views import SNAPSHOTS  # noqa: PLC0415 - as above

        options = self._read_options()
        check_schema(options.view, schema)
        if options.view in SNAPSHOTS:
            return SnapshotReader(options, schema)
        return (PushdownNatsReader if options.filter_pushdown else NatsReader)(options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return what plans the batches of a streaming read."""
        from pyspark_nats.schema import check_schema  # noqa: PLC0415 - as above
        from pyspark_nats.snapshot import SnapshotStreamReader  # noqa: PLC0415 - as above
        from pyspark_nats.stream_reader import NatsStreamReader  # noqa: PLC0415 - as above
        from pyspark_nats.views import SNAPSHOTS  # noqa: PLC0415 - as above

        options = self._read_options()
        check_schema(options.view, schema)
        if options.view in SNAPSHOTS:
            return SnapshotStreamReader(options, schema)
        return NatsStreamReader(options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001 - Spark's
        """Return what writes a frame."""
        from pyspark_nats.writer import NatsWriter  # noqa: PLC0415 - as above

        return NatsWriter(self._write_options(overwrite=overwrite), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: FBT001, N802 - as above
        """Return what writes the batches of a streaming query."""
        from pyspark_nats.writer import NatsStreamWriter  # noqa: PLC0415 - as above

        return NatsStreamWriter(self._write_options(overwrite=overwrite), schema)

    def _write_options(self, *, overwrite: bool) -> WriteOptions:
        from pyspark_nats.collector import leave_loaded  # noqa: PLC0415 - as above
        from pyspark_nats.errors import OptionError  # noqa: PLC0415 - as above
        from pyspark_nats.options import write_options  # noqa: PLC0415 - as above

        leave_loaded()
        if overwrite:
            raise OptionError("mode", "'overwrite': streams are appended to", "append")
        return write_options(self.options)

    def _read_options(self) -> ReadOptions:
        from pyspark_nats.collector import leave_loaded  # noqa: PLC0415 - as above
        from pyspark_nats.options import read_options  # noqa: PLC0415 - as above

        leave_loaded()
        return read_options(self.options)
