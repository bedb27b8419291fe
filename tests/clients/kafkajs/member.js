// Group member. Every batch is committed before kafkajs continues, and so before it rejoins.

// Its default of 5 s would delay heartbeats, which it sends between fetches.
const MAX_WAIT_MS = 100

function processing(consumer, topic, answers) {
  return async ({ batch: { partition, messages } }) => {
    messages.forEach(message => answers.record(partition, message))
    const end = Number(messages[messages.length - 1].offset) + 1
    await consumer.commitOffsets([{ topic, partition, offset: String(end) }])
    answers.committed(partition, end)
  }
}

async function join(kafka, { topic, group, session_ms: sessionTimeout, heartbeat_ms: heartbeatInterval }, answers) {
  const consumer = kafka.consumer({ groupId: group, sessionTimeout, heartbeatInterval, maxWaitTimeInMs: MAX_WAIT_MS })
  const crashed = new Promise((_, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
  })
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ autoCommit: false, eachBatch: processing(consumer, topic, answers) })
    await Promise.race([answers.leaving(), crashed])
  } finally {
    await consumer.disconnect()
  }
}

module.exports = { join }
