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
def test_valid_urls_are_parsed(text: str, expected: StorageUrl) -> None:
    assert parse_storage_url(text) == expected
    assert parse_storage_url(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a storage URL"),
        ("/var/lib/dray", "expected file:/some/directory"),
        ("http://bucket", "not a storage URL"),
        ("S3://bucket", "not a storage URL"),
        ("file:", "contains no directory"),
        ("file://host/data", "host 'host'"),
        ("file://", "expected file:"),
        ("memory:x", "expected nothing after"),
        ("s3:bucket", "expected s3://bucket/prefix"),
        ("s3:///prefix", "not a valid name of a bucket"),
        ("s3://b", "not a valid name of a bucket"),
        ("s3://key:secret@bucket/p", "not a valid name of a bucket"),
        ("s3://bucket/../p", "segment"),
        ("s3://bucket//p", "segment"),
        ("az://bucket/a?b#c", "segment"),
    ],
)
def test_invalid_urls_are_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_storage_url(text)
