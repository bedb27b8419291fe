// Lines of the input, read ahead so that a group member sees `leave` while it consumes.

const readline = require('node:readline')

class Requests {
  constructor(input) {
    this.lines = []
    this.ended = false
    this.wake = () => {}
    const lines = readline.createInterface({ input })
    lines.on('line', line => {
      this.lines.push(line)
      this.wake()
    })
    lines.on('close', () => {
      this.ended = true
      this.wake()
    })
  }

  // Resolves when another line or the end of the input has arrived.
  async waiting() {
    while (this.lines.length === 0 && !this.ended) {
      await new Promise(resolve => (this.wake = resolve))
    }
  }

  async *[Symbol.asyncIterator]() {
    for (await this.waiting(); this.lines.length > 0; await this.waiting()) {
      yield JSON.parse(this.lines.shift())
    }
  }
}

module.exports = { Requests }
