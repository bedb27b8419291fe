// Client program for kafkajs; its protocol is described in tests/clients/protocol.py.

const { Kafka, Partitioners, logLevel } = require('kafkajs')
const codecs = require('./codecs')
const member = require('./member')
const reader = require('./reader')
const { Requests } = require('./requests')
const { readSecurity } = require('./security')

const TOPIC_ALREADY_EXISTS = 36

const bytes = base64 => (base64 === null ? null : Buffer.from(base64, 'base64'))
const base64 = buffer => (buffer == null ? null : buffer.toString('base64'))
const say = answer => process.stdout.write(JSON.stringify(answer) + '\n')

class Refused extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

class Program {
  constructor(bootstrap, security, requests) {
    this.requests = requests
    const logCreator = () => entry => process.stderr.write(JSON.stringify(entry) + '\n')
    this.kafka = new Kafka({ brokers: [bootstrap], ...security, logLevel: logLevel.WARN, logCreator })
  }

  async create_topic({ topic, partitions, configs }) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    const wanted = { topic, numPartitions: partitions, replicationFactor: 1, configEntries }
    const created = await this.withAdmin(admin => admin.createTopics({ topics: [wanted] }))
    if (!created) {
      throw new Refused(TOPIC_ALREADY_EXISTS, 'createTopics returned false')
    }
    return {}
  }

  async describe_topic({ topic }) {
    const found = await this.withAdmin(admin => admin.fetchTopicOffsets(topic))
    found.sort((one, other) => one.partition - other.partition)
    return { bounds: found.map(({ low, high }) => [Number(low), Number(high)]) }
  }

  async produce({ topic, records, codec, idempotent, bytes_max: bytesMax }) {
    const producer = this.kafka.producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      ...(idempotent === null ? {} : { idempotent }),
    })
    await producer.connect()
    try {
      const compression = codec === null ? {} : { compression: codecs.TYPES[codec] }
      const places = []
      for (const group of groupsOf(records, bytesMax)) {
        const sent = await producer.send({ topic, messages: group.map(toMessage), ...compression })
        places.push(...placesOf(group, sent))
      }
      return { placed: places }
    } finally {
      await producer.disconnect()
    }
  }

  async consume(request) {
    await reader.consume(this.kafka, use => this.withAdmin(use), request, this.answers())
    return {}
  }

  async join(request) {
    await member.join(this.kafka, request, this.answers())
    return {}
  }

  answers() {
    return {
      ready: () => say({ is: 'ready' }),
      record: (partition, message) => say({ is: 'record', record: toRecord(partition, message) }),
      committed: (partition, offset) => say({ is: 'committed', offsets: [[partition, offset]] }),
      leaving: () => this.requests.waiting(),
    }
  }

  async withAdmin(use) {
    const admin = this.kafka.admin()
    await admin.connect()
    try {
      return await use(admin)
    } finally {
      await admin.disconnect()
    }
  }
}

// kafkajs never splits a send: where size matters, the user sends record by record.
const groupsOf = (records, bytesMax) => (bytesMax === null ? [records] : records.map(one => [one]))

// Headers are an object in kafkajs: those of one name are grouped.
function toMessage({ partition, timestamp, key, value, headers }) {
  const grouped = {}
  for (const [name, data] of headers) {
    grouped[name] = [...(grouped[name] ?? []), bytes(data)]
  }
  const message = { partition, key: bytes(key), value: bytes(value), headers: grouped }
  return timestamp === null ? message : { ...message, timestamp: String(timestamp) }
}

function toRecord(partition, { offset, timestamp, key, value, headers }) {
  const flat = Object.entries(headers).flatMap(([name, data]) =>
    (Array.isArray(data) ? data : [data]).map(one => [name, base64(one)])
  )
  return {
    partition,
    offset: Number(offset),
    timestamp: Number(timestamp),
    key: base64(key),
    value: base64(value),
    headers: flat,
  }
}

// A send makes one batch per partition and reports its first offset.
function placesOf(records, sent) {
  const next = new Map(sent.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]))
  return records.map(({ partition }) => {
    const offset = next.get(partition)
    next.set(partition, offset + 1)
    return [partition, offset]
  })
}

function failure(error) {
  const said = [error, error.cause, ...(error.errors ?? [])].find(one => Number.isInteger(one?.code))
  return { is: 'failed', message: String(error), ...(said ? { code: said.code } : {}) }
}

async function main(bootstrap, securityFile) {
  await codecs.install()
  const requests = new Requests(process.stdin)
  const program = new Program(bootstrap, securityFile ? readSecurity(securityFile) : {}, requests)
  for await (const request of requests) {
    if (request.do === 'leave') {
      continue // it has ended what went before it
    }
    try {
      say({ is: 'done', ...(await program[request.do](request)) })
    } catch (error) {
      process.stderr.write(`${error.stack}\n`)
      say(failure(error))
    }
  }
}

main(process.argv[2], process.argv[3])
