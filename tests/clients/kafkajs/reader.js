// Reader of partitions from given offsets.
//
// kafkajs reads only in groups: here in one that has a single member, and commits nothing.

const { randomUUID } = require('node:crypto')

// Its default of 5 s would delay the end of a read.
const MAX_WAIT_MS = 100

async function startsOf(admin, { topic, partitions, start, value }) {
  if (start === 'offset') {
    return new Map(partitions.map(partition => [partition, value]))
  }
  const asked = start === 'timestamp' ? admin.fetchTopicOffsetsByTimestamp(topic, value) : admin.fetchTopicOffsets(topic)
  const place = { earliest: 'low', latest: 'high', timestamp: 'offset' }[start]
  const wanted = (await asked).filter(({ partition }) => partitions.includes(partition))
  return new Map(wanted.map(found => [found.partition, Number(found[place])]))
}

// Returns records of each partition from its start, until there are enough. A batch may be from before the seek.
async function readOn(consumer, { topic, count, timeout_ms: timeoutMs }, starts, answers) {
  let [given, late] = [0, null]
  const next = new Map(starts)
  const complete = new Promise((resolve, reject) => {
    late = setTimeout(() => reject(new Error(`out of time: ${given} of ${count} records came`)), timeoutMs)
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    const eachBatch = async ({ batch: { partition, messages } }) => {
      for (const message of messages) {
        if (given < count && Number(message.offset) === next.get(partition)) {
          answers.record(partition, message)
          next.set(partition, next.get(partition) + 1)
          given += 1
        }
      }
      if (given >= count) {
        resolve()
      }
    }
    consumer
      .run({ autoCommit: false, eachBatch })
      .then(() => starts.forEach((offset, partition) => consumer.seek({ topic, partition, offset: String(offset) })))
      .catch(reject)
  })
  await complete.finally(() => clearTimeout(late))
}

async function consume(kafka, withAdmin, request, answers) {
  const starts = await withAdmin(admin => startsOf(admin, request))
  if (request.start === 'latest') {
    answers.ready()
  }
  const consumer = kafka.consumer({ groupId: `reader-${randomUUID()}`, maxWaitTimeInMs: MAX_WAIT_MS })
  await consumer.connect()
  try {
    await consumer.subscribe({ topic: request.topic })
    await readOn(consumer, request, starts, answers)
  } finally {
    await consumer.disconnect()
  }
}

module.exports = { consume }
