"""Storage URLs."""

import pytest

from dray.objects.url import StorageUrl, parse_storage_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("file:/var/lib/dray", StorageUrl("file", "", "/var/lib/dray")),
        ("file:///var/lib/dray", StorageUrl("file", "", "/var/lib/dray")),
        ("file://localhost/data", StorageUrl("file", "", "/data")),
        ("file:relative/data", StorageUrl("file", "", "relative/data")),
        ("memory:", StorageUrl("memory", "", "")),
        ("s3://bucket", StorageUrl("s3", "bucket", "")),
        ("s3://bucket/", StorageUrl("s3", "bucket", "")),
        ("s3://bucket/a/b=c/", StorageUrl("s3", "bucket", "a/b=c")),
        ("gs://my_bucket.example/p", StorageUrl("gs", "my_bucket.example", "p")),
        ("az://container/p", StorageUrl("az", "container", "p")),
    ],
)
def test_what_urls_name(text: str, expected: StorageUrl) -> None:
    assert parse_storage_url(text) == expected
    assert parse_storage_url(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no storage URL"),
        ("/var/lib/dray", "write file:/some/directory"),
        ("http://bucket", "no storage URL"),
        ("S3://bucket", "no storage URL"),
        ("file:", "names no directory"),
        ("file://host/data", "host 'host'"),
        ("file://", "write file:"),
        ("memory:x", "nothing follows"),
        ("s3:bucket", "write s3://bucket/prefix"),
        ("s3:///prefix", "no name of a bucket"),
        ("s3://b", "no name of a bucket"),
        ("s3://key:secret@bucket/p", "no name of a bucket"),
        ("s3://bucket/../p", "segment"),
        ("s3://bucket//p", "segment"),
        ("az://bucket/a?b#c", "segment"),
    ],
)
def test_what_is_no_url(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_storage_url(text)
