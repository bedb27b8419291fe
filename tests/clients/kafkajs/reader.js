// Reading with kafkajs without a group.
//
// kafkajs's consumer cannot do without one, so this stands where its fetcher stands: kafkajs's own cluster,
// brokers, requests, decoders and batches, with a loop of ours around them.

const Cluster = require('kafkajs/src/cluster')
const Batch = require('kafkajs/src/consumer/batch')
const ISOLATION_LEVEL = require('kafkajs/src/protocol/isolationLevel')
const { createLogger, LEVELS } = require('kafkajs/src/loggers')
const consoleLogger = require('kafkajs/src/loggers/console')
const socketFactory = require('kafkajs/src/network/socketFactory')

// The defaults of kafkajs's consumer, but for the wait: its 5 s would hold up the end of a read.
const FETCH = { maxWaitTime: 500, minBytes: 1, maxBytes: 10485760 }
const PARTITION_BYTES_MAX = 1048576

function newCluster(bootstrap) {
  return new Cluster({
    logger: createLogger({ level: LEVELS.WARN, logCreator: consoleLogger }),
    socketFactory: socketFactory(),
    brokers: [bootstrap],
    connectionTimeout: 1000,
    enforceRequestTimeout: true,
    metadataMaxAge: 300000,
    allowAutoTopicCreation: false,
    isolationLevel: ISOLATION_LEVEL.READ_COMMITTED,
  })
}

async function startsOf(cluster, { topic, partitions, start, value }) {
  if (start === 'offset') {
    return new Map(partitions.map(partition => [partition, String(value)]))
  }
  const places = {
    earliest: { fromBeginning: true },
    latest: { fromBeginning: false },
    timestamp: { fromTimestamp: String(value) },
  }
  const asked = { topic, partitions: partitions.map(partition => ({ partition })), ...places[start] }
  const [found] = await cluster.fetchTopicsOffset([asked])
  return new Map(found.partitions.map(({ partition, offset }) => [partition, offset]))
}

async function fetchOnce(cluster, topic, positions) {
  const leaders = cluster.findLeaderForPartitions(topic, [...positions.keys()])
  const fetched = Object.entries(leaders).map(async ([nodeId, numbers]) => {
    const broker = await cluster.findBroker({ nodeId })
    const wanted = numbers.map(partition => ({
      partition,
      fetchOffset: positions.get(partition),
      maxBytes: PARTITION_BYTES_MAX,
    }))
    const request = { ...FETCH, isolationLevel: cluster.isolationLevel, topics: [{ topic, partitions: wanted }] }
    const { responses } = await broker.fetch(request)
    return responses.flatMap(response => response.partitions)
  })
  const parts = (await Promise.all(fetched)).flat()
  return parts.map(part => new Batch(topic, positions.get(part.partition), part))
}

async function consume(bootstrap, request, answers) {
  const cluster = newCluster(bootstrap)
  await cluster.connect()
  try {
    await cluster.addTargetTopic(request.topic)
    const positions = await startsOf(cluster, request)
    if (request.start === 'latest') {
      answers.ready()
    }
    await readOn(cluster, request, positions, answers)
  } finally {
    await cluster.disconnect()
  }
}

async function readOn(cluster, { topic, count, timeout_ms: timeoutMs }, positions, answers) {
  const deadline = Date.now() + timeoutMs
  let given = 0
  while (given < count) {
    if (Date.now() > deadline) {
      throw new Error(`out of time: ${given} of ${count} records came`)
    }
    for (const batch of await fetchOnce(cluster, topic, positions)) {
      const messages = batch.messages.slice(0, count - given)
      messages.forEach(message => answers.record(batch.partition, message))
      given += messages.length
      if (!batch.isEmptyIncludingFiltered()) {
        positions.set(batch.partition, String(BigInt(batch.lastOffset()) + 1n))
      }
    }
  }
}

module.exports = { consume }
