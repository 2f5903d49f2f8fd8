import t from 'tap'
import { FetchError } from '../../lib/http/fetch.js'
import { Renewed, type Outcome } from '../../lib/http/renewed.js'

/** A document whose fetches end when a test says so. */
class Sample extends Renewed<string> {
  readonly outcomes: Outcome[] = []
  readonly ends: { resolve: (text: string) => void; reject: (error: Error) => void }[] = []

  constructor() {
    super(1_000)
  }

  protected fetch(): Promise<string> {
    return new Promise((resolve, reject) => this.ends.push({ resolve, reject }))
  }

  protected report(outcome: Outcome): void {
    this.outcomes.push(outcome)
  }

  get text(): string | null {
    return this.document
  }

  replace(text: string | null): void {
    this.reset(text)
  }

  get wait(): number {
    return this.pause
  }
}

t.test('a fetch that was running when the document was replaced is ignored', async (t) => {
  for (const end of ['resolve', 'reject'] as const) {
    const sample = new Sample()
    const old = sample.begin()
    sample.replace(null)
    const next = sample.begin()
    t.not(next, old, 'another one has begun')
    sample.ends[1]?.resolve('new')
    await next
    sample.ends[0]?.[end](new FetchError('old') as never)
    await old
    t.strictSame([sample.text, sample.wait, sample.outcomes.length], ['new', 0, 1])
  }
})
