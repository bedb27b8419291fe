"""A new file that is buffered in memory and written at once when it is closed."""

from abc import ABC, abstractmethod
from io import BytesIO
from types import TracebackType


class BufferedFile(BytesIO, ABC):
    """An output stream of PyIceberg; metadata files are small. After an error it writes nothing."""

    @abstractmethod
    def write_content(self, content: bytes) -> None:
        """Write the whole file."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            super().close()

    def close(self) -> None:
        if self.closed:
            return
        content = self.getvalue()
        super().close()
        self.write_content(content)
