// Kafka's other codecs for kafkajs, which has only gzip.

const { CompressionCodecs, CompressionTypes } = require('kafkajs')
const snappy = require('kafkajs-snappy')
const lz4 = require('lz4-napi')
const zstd = require('@bokuweb/zstd-wasm')

// Frames that do not state their size are decompressed into a buffer of this size.
const UNPACKED_BYTES_MAX = 32 << 20

const lz4Codec = () => ({
  compress: async encoder => lz4.compressFrame(encoder.buffer),
  decompress: async data => lz4.decompressFrame(data),
})

const zstdCodec = () => ({
  compress: async encoder => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async data => Buffer.from(zstd.decompress(data, { defaultHeapSize: UNPACKED_BYTES_MAX })),
})

async function install() {
  await zstd.init()
  CompressionCodecs[CompressionTypes.Snappy] = snappy
  CompressionCodecs[CompressionTypes.LZ4] = lz4Codec
  CompressionCodecs[CompressionTypes.ZSTD] = zstdCodec
}

const TYPES = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

module.exports = { TYPES, install }
