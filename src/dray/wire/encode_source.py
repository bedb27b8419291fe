"""Generator of the function that encodes one version of a message.

Fields are appended to one bytearray. At records it is complete: their buffers follow in the result as they
are, and a new bytearray starts, so records are never copied. Adjacent fixed-width fields are packed by one
`struct` call.

    m     the message
    buf   the bytearray being filled; the caller may have put a header into it
    out   the complete buffers, in order
"""

from dataclasses import dataclass, field
from functools import cache
from struct import Struct, pack

from dray.wire import error_location, varint
from dray.wire.errors import EncodeError
from dray.wire.kinds import FIXED_BYTES, Kind
from dray.wire.schema import FieldSchema, StructSchema
from dray.wire.source import Source


def encode_source(schema: StructSchema, *, strict: bool) -> Source:
    """Return the source of `encode(m, buf) -> list of buffers`.

    If `strict`, a field that this version lacks and that is not ignorable must have its default value.
    """
    source = Source()
    for known in (varint.uvarint_bytes, varint.string_length_bytes, pack, EncodeError):
        source.use(known.__name__, known)
    source.use("ERRORS", error_location.ENCODE_ERRORS)
    with source.block("def encode(m, buf):"):
        with source.block("try:"):
            source.add("out = []")
            encoder = _Encoder(source, strict)
            encoder.struct(schema, "m", "")
            encoder.flush()
            source.add("out.append(buf)")
            source.add("return out")
        with source.block("except ERRORS as error:"):
            source.add("raise located(error) from None")
    return source


@dataclass(slots=True)
class _Encoder:
    source: Source
    strict: bool
    buf: str = "buf"
    # Fixed-width values that are not packed yet: struct letter, expression, path.
    run: list[tuple[str, str, str]] = field(default_factory=list)

    def struct(self, schema: StructSchema, value: str, path: str) -> None:
        """Generate the encoding of a struct, the expression `value`."""
        for known in schema.forbidden if self.strict else ():
            self.forbidden(schema, known, f"{value}.{known.name}", f"{path}{known.name}")
        for known in schema.fields:
            self.field(schema, known, f"{value}.{known.name}", f"{path}{known.name}")
        if schema.tagged:
            self.tagged(schema, value, path)
        elif schema.flexible:
            self.run.append(("B", "0", f"{path}tagged fields"))

    def forbidden(self, schema: StructSchema, known: FieldSchema, value: str, path: str) -> None:
        """Generate the check that a field which this version lacks has its default value."""
        with self.source.block(f"if not ({_is_default(self.source, schema, known, value)}):"):
            self.source.add(
                f"raise EncodeError('is set, but version {schema.version} has no such field')", (0, path)
            )

    def flush(self) -> None:
        """Generate the packing of the pending fixed-width values."""
        if not self.run:
            return
        letters = "".join(letter for letter, *_ in self.run)
        values = ", ".join(value for _, value, _ in self.run)
        path = " or ".join(dict.fromkeys(path for *_, path in self.run))
        if letters == "B":
            self.source.add(f"{self.buf}.append({values})", (0, path))
        else:
            packer = self.source.use(f"pack_{letters.replace('?', 't')}", _packer(letters))
            self.source.add(f"{self.buf} += {packer}({values})", (0, path))
        self.run.clear()

    def field(self, schema: StructSchema, known: FieldSchema, value: str, path: str) -> None:
        if known.is_array:
            self.array(schema, known, value, path)
        elif known.kind in FIXED_BYTES:
            self.fixed(known, value, path)
        elif known.kind is Kind.STRUCT:
            self.nested(schema, known, value, path)
        else:
            self.sized(schema, known, value, path)

    def fixed(self, known: FieldSchema, value: str, path: str) -> None:
        if known.kind is Kind.UUID:
            # `struct` would truncate or pad it silently.
            with self.source.block(f"if len({value}) != 16:", (0, path)):
                self.source.add("raise EncodeError('a UUID has 16 bytes')", (0, path))
        self.run.append((known.kind.value, value, path))

    def sized(self, schema: StructSchema, known: FieldSchema, value: str, path: str) -> None:
        """Generate the encoding of a string, bytes or records."""
        local = self.source.fresh(known.name)
        self.source.add(f"{local} = {value}")
        if schema.flexible:
            self.flush()
            if not known.nullable:
                self.present(schema, known, local, path)
                return
            with self.source.block(f"if {local} is None:"):
                self.source.add(f"{self.buf}.append(0)")
            with self.source.block("else:"):
                self.present(schema, known, local, path)
            return
        if not known.nullable:
            self.present(schema, known, local, path)
            return
        self.flush()
        letter = "h" if known.kind is Kind.STRING else "i"
        with self.source.block(f"if {local} is None:"):
            self.source.add(f"{self.buf} += {self.source.use(f'pack_{letter}', _packer(letter))}(-1)")
        with self.source.block("else:"):
            self.present(schema, known, local, path)

    def present(self, schema: StructSchema, known: FieldSchema, local: str, path: str) -> None:
        """Generate the encoding of a string, bytes or records that are not null."""
        size = self.source.fresh("n")
        if known.kind is Kind.STRING:
            self.source.add(f"{local} = {local}.encode()", (0, path))
        measured = f"sum(map(len, {local}))" if known.kind is Kind.RECORDS_PARTS else f"len({local})"
        self.source.add(f"{size} = {measured}", (0, path))
        self.length(schema, known, size, path)
        if known.kind is Kind.RECORDS_PARTS or known.kind is Kind.RECORDS_VIEW:
            self.records(known, local, size)
        else:
            self.source.add(f"{self.buf} += {local}", (0, path))

    def length(self, schema: StructSchema, known: FieldSchema, size: str, path: str) -> None:
        is_string = known.kind is Kind.STRING and not known.is_array
        if not schema.flexible:
            self.run.append(("h" if is_string else "i", size, path))
            self.flush()
            return
        self.flush()
        with self.source.block(f"if {size} < 127:"):
            self.source.add(f"{self.buf}.append({size} + 1)")
        with self.source.block("else:"):
            longer = "string_length_bytes" if is_string else "uvarint_bytes"
            self.source.add(f"{self.buf} += {longer}({size} + 1)", (0, path))

    def records(self, known: FieldSchema, local: str, size: str) -> None:
        assert self.buf == "buf", "records inside a tagged field"
        with self.source.block(f"if {size}:"):
            self.source.add("out.append(buf)")
            self.source.add(f"out += {local}" if known.kind is Kind.RECORDS_PARTS else f"out.append({local})")
            self.source.add("buf = bytearray()")

    def array(self, schema: StructSchema, known: FieldSchema, value: str, path: str) -> None:
        local = self.source.fresh(known.name)
        self.source.add(f"{local} = {value}")
        if not known.nullable:
            self.elements(schema, known, local, path)
            return
        self.flush()
        with self.source.block(f"if {local} is None:"):
            none = "append(0)" if schema.flexible else None
            packer = self.source.use("pack_i", _packer("i"))
            self.source.add(f"{self.buf}.{none}" if none else f"{self.buf} += {packer}(-1)")
        with self.source.block("else:"):
            self.elements(schema, known, local, path)

    def elements(self, schema: StructSchema, known: FieldSchema, local: str, path: str) -> None:
        size = self.source.fresh("n")
        self.source.add(f"{size} = len({local})", (0, path))
        self.length(schema, known, size, path)
        if known.kind in FIXED_BYTES and known.kind is not Kind.UUID:
            self.source.add(f'{self.buf} += pack(f">{{{size}}}{known.kind.value}", *{local})', (0, path))
            return
        element = self.source.fresh("each")
        with self.source.block(f"for {element} in {local}:"):
            if known.kind is Kind.STRUCT:
                self.struct(schema.nested(known), element, f"{path}[].")
            elif known.kind is Kind.UUID:
                self.fixed(known, element, path)
            else:
                self.present(schema, known.element(), element, path)
            self.flush()

    def nested(self, schema: StructSchema, known: FieldSchema, value: str, path: str) -> None:
        local = self.source.fresh(known.name)
        self.source.add(f"{local} = {value}")
        if not known.nullable:
            self.struct(schema.nested(known), local, f"{path}.")
            return
        self.flush()
        with self.source.block(f"if {local} is None:"):
            self.source.add(f"{self.buf}.append(255)")
        with self.source.block("else:"):
            self.run.append(("b", "1", path))
            self.struct(schema.nested(known), local, f"{path}.")
            self.flush()

    def tagged(self, schema: StructSchema, value: str, path: str) -> None:
        """Tagged fields at their default are left out; mostly all are."""
        self.flush()
        defaults = [
            _is_default(self.source, schema, known, f"{value}.{known.name}") for known in schema.tagged
        ]
        with self.source.block(f"if {' and '.join(defaults)}:"):
            self.source.add(f"{self.buf}.append(0)")
        with self.source.block("else:"):
            outer, count, tags = self.buf, self.source.fresh("count"), self.source.fresh("tags")
            self.source.add(f"{count} = 0")
            self.source.add(f"{tags} = bytearray()")
            for known, is_default in zip(schema.tagged, defaults, strict=True):
                with self.source.block(f"if not ({is_default}):"):
                    self.one_tag(schema, known, f"{value}.{known.name}", f"{path}{known.name}", tags)
                    self.source.add(f"{count} += 1")
            self.buf = outer
            self.source.add(f"{outer} += uvarint_bytes({count}) + {tags}")

    def one_tag(self, schema: StructSchema, known: FieldSchema, value: str, path: str, tags: str) -> None:
        self.buf = self.source.fresh("data")
        self.source.add(f"{self.buf} = bytearray()")
        self.field(schema, known, value, path)
        self.flush()
        self.source.add(f"{tags} += uvarint_bytes({known.tag}) + uvarint_bytes(len({self.buf})) + {self.buf}")


def _is_default(source: Source, schema: StructSchema, known: FieldSchema, value: str) -> str:
    if known.default is None:
        return f"{value} is None"
    if isinstance(known.default, (int, str, bytes, float)):
        return f"{value} == {known.default!r}"
    if known.default == []:
        return f"{value} == []"
    default = source.use(f"default_{schema.struct.__name__}_{known.name}", known.default)
    return f"({value} is {default} or {value} == {default})"


@cache
def _packer(letters: str) -> object:
    return Struct(f">{letters}").pack
