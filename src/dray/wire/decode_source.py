"""Generator of the function that decodes one version of a message.

The whole message is one function: structs are decoded in place, arrays in loops. Adjacent fixed-width fields
are unpacked by one `struct` call, together with the first byte of a length that follows them. `struct` and
indexing raise at the end of the bytes; only slices need a check.

    buf   the bytes, a memoryview
    pos   the position of the next field
    end   len(buf)
"""

from dataclasses import dataclass, field
from functools import cache
from struct import Struct
from typing import Final

from dray.wire import error_location, varint
from dray.wire.errors import BadLength, Truncated, UnexpectedNull
from dray.wire.kinds import FIXED_BYTES, Kind
from dray.wire.schema import FieldSchema, StructSchema
from dray.wire.source import Source

_LENGTH_BYTES: Final = {"B": 1, "h": 2, "i": 4}
# Expressions for the value in the bytes from `pos` to `stop`. As in Java, malformed UTF-8 is replaced.
_VALUE: Final = {
    Kind.STRING: 'str(buf[pos:{stop}], "utf-8", "replace")',
    Kind.BYTES: "buf[pos:{stop}].tobytes()",
    Kind.RECORDS_VIEW: "buf[pos:{stop}]",
    Kind.RECORDS_PARTS: "[buf[pos:{stop}]]",
}
_EMPTY: Final = {
    Kind.STRING: '""',
    Kind.BYTES: 'b""',
    Kind.RECORDS_VIEW: "buf[pos:pos]",
    Kind.RECORDS_PARTS: "[]",
}


def decode_source(schema: StructSchema) -> Source:
    """Return the source of `decode(buf, pos) -> (message, pos)`."""
    source = Source()
    for error in (BadLength, Truncated, UnexpectedNull):
        source.use(error.__name__, error)
    for function in (varint.uvarint, varint.string_length, varint.tag_head, varint.skip_tags):
        source.use(function.__name__, function)
    source.use("ERRORS", error_location.DECODE_ERRORS)
    with source.block("def decode(buf, pos):"):
        source.add("end = len(buf)")
        with source.block("try:"):
            value = _Decoder(source).struct(schema, "")
            source.add(f"return {value}, pos")
        with source.block("except ERRORS as error:"):
            source.add("raise located(error) from None")
    return source


@dataclass(slots=True)
class _Decoder:
    source: Source
    # Fixed-width fields that are not unpacked yet: struct letter, variable, bytes, path.
    run: list[tuple[str, str, int, str]] = field(default_factory=list)

    def struct(self, schema: StructSchema, path: str) -> str:
        """Generate the decoding of a struct; returns the expression that creates it."""
        values = {known.name: self.field(schema, known, f"{path}{known.name}") for known in schema.fields}
        if schema.flexible:
            values |= self.tagged(schema, path)
        self.flush()
        arguments = ", ".join(f"{name}={value}" for name, value in values.items())
        return f"{self.source.use(schema.struct.__name__, schema.struct)}({arguments})"

    def field(self, schema: StructSchema, known: FieldSchema, path: str) -> str:
        """Generate the decoding of a field; returns the variable that holds it."""
        if known.is_array:
            return self.array(schema, known, path)
        if known.kind in FIXED_BYTES:
            variable = self.source.fresh(known.name)
            self.run.append((known.kind.value, variable, FIXED_BYTES[known.kind], path))
            return variable
        if known.kind is Kind.STRUCT:
            return self.nested(schema, known, path)
        return self.sized(schema, known, path)

    def flush(self) -> None:
        """Generate the unpacking of the pending fixed-width fields."""
        if not self.run:
            return
        paths, offset = [], 0
        for _, _, width, path in self.run:
            paths.append((offset, path))
            offset += width
        letters = "".join(letter for letter, *_ in self.run)
        variables = ", ".join(variable for _, variable, *_ in self.run)
        if letters == "B":
            self.source.add(f"{variables} = buf[pos]", *paths)
        else:
            unpack = self.source.use(f"unpack_{letters.replace('?', 't')}", _unpacker(letters))
            self.source.add(f"{variables}, = {unpack}(buf, pos)", *paths)
        self.source.add(f"pos += {offset}")
        self.run.clear()

    def length(self, schema: StructSchema, known: FieldSchema, path: str, letter: str) -> str:
        """Generate the decoding of a length; returns its variable, one too high in flexible versions."""
        letter = "B" if schema.flexible else letter
        variable = self.source.fresh("n")
        self.run.append((letter, variable, _LENGTH_BYTES[letter], path))
        self.flush()
        if schema.flexible:
            finish = "string_length" if known.kind is Kind.STRING and not known.is_array else "uvarint"
            with self.source.block(f"if {variable} > 127:"):
                self.source.add(f"{variable}, pos = {finish}(buf, pos, {variable})", (0, path))
        return variable

    def sized(self, schema: StructSchema, known: FieldSchema, path: str) -> str:
        """Generate the decoding of a string, bytes or records."""
        length = self.length(schema, known, path, "h" if known.kind is Kind.STRING else "i")
        variable, stop = self.source.fresh(known.name), self.source.fresh("stop")
        zero = 1 if schema.flexible else 0
        with self.source.block(f"if {length} > {zero}:"):
            self.source.add(f"{stop} = pos + {length} - {zero}")
            with self.source.block(f"if {stop} > end:"):
                self.source.add("raise Truncated", (0, path))
            self.source.add(f"{variable} = {_VALUE[known.kind].format(stop=stop)}")
            self.source.add(f"pos = {stop}")
        with self.source.block(f"elif {length} == {zero}:"):
            self.source.add(f"{variable} = {_EMPTY[known.kind]}")
        with self.source.block("else:"):
            self.null(known, variable, path)
        return variable

    def null(self, known: FieldSchema, variable: str, path: str) -> None:
        self.source.add(f"{variable} = None" if known.nullable else "raise UnexpectedNull", (0, path))

    def array(self, schema: StructSchema, known: FieldSchema, path: str) -> str:
        count, variable = self.length(schema, known, path, "i"), self.source.fresh(known.name)
        zero = 1 if schema.flexible else 0
        with self.source.block(f"if {count} > {zero}:"):
            if zero:
                self.source.add(f"{count} -= 1")
            self.elements(schema, known, path, count, variable)
        with self.source.block(f"elif {count} == {zero}:"):
            self.source.add(f"{variable} = []")
        with self.source.block("else:"):
            self.null(known, variable, path)
        return variable

    def elements(
        self, schema: StructSchema, known: FieldSchema, path: str, count: str, variable: str
    ) -> None:
        width = _element_bytes_min(schema, known)
        with self.source.block(f"if {count} * {width} > end - pos:"):
            self.source.add("raise BadLength", (0, path))
        if known.kind in FIXED_BYTES:
            stop, letters = self.source.fresh("stop"), known.kind.value
            self.source.add(f"{stop} = pos + {count} * {width}")
            each = self.source.use(f"each_{letters.replace('?', 't')}", _stepper(letters))
            self.source.add(f"{variable} = [value for value, in {each}(buf[pos:{stop}])]")
            self.source.add(f"pos = {stop}")
            return
        self.source.add(f"{variable} = []")
        with self.source.block(f"for _ in range({count}):"):
            element = f"{path}[{{{variable}}}]"
            if known.kind is Kind.STRUCT:
                value = self.struct(schema.nested(known), f"{element}.")
            else:
                value = self.sized(schema, known.element(), element)
            self.source.add(f"{variable}.append({value})")

    def nested(self, schema: StructSchema, known: FieldSchema, path: str) -> str:
        variable = self.source.fresh(known.name)
        inner = schema.nested(known)
        if not known.nullable:
            self.source.add(f"{variable} = {self.struct(inner, f'{path}.')}")
            return variable
        marker = self.source.fresh("marker")
        self.run.append(("b", marker, 1, path))
        self.flush()
        with self.source.block(f"if {marker} < 0:"):
            self.source.add(f"{variable} = None")
        with self.source.block("else:"):
            self.source.add(f"{variable} = {self.struct(inner, f'{path}.')}")
        return variable

    def tagged(self, schema: StructSchema, path: str) -> dict[str, str]:
        """Generate the decoding of the tagged fields; returns the variables of the known ones."""
        count = self.source.fresh("tags")
        self.run.append(("B", count, 1, f"{path}tagged fields"))
        self.flush()
        values = {known.name: self.source.fresh(known.name) for known in schema.tagged}
        for known in schema.tagged:
            self.source.add(f"{values[known.name]} = {_default(self.source, schema, known)}")
        with self.source.block(f"if {count}:"):
            if values:
                self.known_tags(schema, path, count, values)
            else:
                self.source.add(f"pos = skip_tags(buf, pos, {count})", (0, f"{path}tagged fields"))
        return values

    def known_tags(self, schema: StructSchema, path: str, count: str, values: dict[str, str]) -> None:
        place = (0, f"{path}tagged fields")
        with self.source.block(f"if {count} > 127:"):
            self.source.add(f"{count}, pos = uvarint(buf, pos, {count})", place)
        tag, stop = self.source.fresh("tag"), self.source.fresh("stop")
        with self.source.block(f"for _ in range({count}):"):
            self.source.add(f"{tag}, pos, {stop} = tag_head(buf, pos)", place)
            branch = "if"
            for known in schema.tagged:
                with self.source.block(f"{branch} {tag} == {known.tag}:"):
                    value = self.field(schema, known, f"{path}{known.name}")
                    self.flush()
                    self.source.add(f"{values[known.name]} = {value}")
                branch = "elif"
            with self.source.block("else:"):
                self.source.add(f"pos = {stop}")
            with self.source.block(f"if pos != {stop}:"):
                self.source.add("raise BadLength", place)


def _default(source: Source, schema: StructSchema, known: FieldSchema) -> str:
    if known.default is None or isinstance(known.default, (int, str, bytes, float)):
        return repr(known.default)
    if known.default == []:
        return "[]"
    return source.use(f"default_{schema.struct.__name__}_{known.name}", known.default)


def _element_bytes_min(schema: StructSchema, known: FieldSchema) -> int:
    if known.kind in FIXED_BYTES:
        return FIXED_BYTES[known.kind]
    if known.kind is Kind.STRUCT:
        return max(1, schema.nested(known).bytes_min())
    return 1 if schema.flexible else 2


@cache
def _unpacker(letters: str) -> object:
    return Struct(f">{letters}").unpack_from


@cache
def _stepper(letters: str) -> object:
    return Struct(f">{letters}").iter_unpack
