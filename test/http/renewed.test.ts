import t from 'tap'
import { FetchError } from '../../lib/http/fetch.js'
import { Renewed, type Outcome } from '../../lib/http/renewed.js'
import { clockOf } from '../helpers/issuer.js'

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

t.test('a document stays while fetches fail, with a pause after each failure', async (t) => {
  const { advance } = clockOf(t)
  const sample = new Sample()
  const first = sample.begin()
  t.equal(sample.begin(), first, 'one fetch for all')
  sample.ends[0]?.resolve('one')
  await first
  t.equal(sample.text, 'one')
  for (const pause of [1_000, 2_000, 4_000]) {
    const next = sample.begin()
    sample.ends.at(-1)?.reject(new FetchError('the status is 500'))
    await next
    t.strictSame([sample.text, sample.wait, sample.begin()], ['one', pause, null])
    advance(pause / 1000)
  }
  const last = sample.begin()
  sample.ends.at(-1)?.resolve('two')
  await last
  t.strictSame([sample.text, sample.wait], ['two', 0])
  t.match(sample.outcomes, [
    { outcome: 'renewed', reason: null, isBack: false },
    ...Array.from({ length: 3 }, () => ({ outcome: 'failed', reason: /500/, isBack: false })),
    { outcome: 'renewed', reason: null, isBack: true },
  ])
})

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

t.test('after stop() nothing is fetched, and what still arrives is not kept', async (t) => {
  const sample = new Sample()
  const running = sample.begin()
  sample.stop()
  sample.ends[0]?.resolve('late')
  await running
  t.strictSame([sample.text, sample.begin()], [null, null])
})
