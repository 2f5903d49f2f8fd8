import t, { type Test } from 'tap'
import { JwtService } from '../../../lib/index.js'
import { rejectionOf } from '../../helpers/errors.js'
import { until } from '../../helpers/load.js'
import { entries } from '../../helpers/key-sets.js'

/** Key files that hang until answer() is called; timeOut() ends the 5 seconds that a read may take. */
function hangingDisk(t: Test, text: string) {
  const late = new Map<object, () => void>()
  const answers: ((text: string) => void)[] = []
  const { setTimeout: real } = globalThis
  t.intercept(globalThis, 'setTimeout', {
    value: (callback: () => void, delay: number) => {
      if (delay !== 5_000) return real(callback, delay)
      const timer = {}
      late.set(timer, callback)
      return timer
    },
  })
  const { clearTimeout: clear } = globalThis
  t.intercept(globalThis, 'clearTimeout', {
    value: (timer: NodeJS.Timeout) => late.delete(timer) || clear(timer),
  })
  return {
    answers,
    fs: { readFile: () => new Promise<string>((resolve) => answers.push(resolve)) },
    timeOut: () => late.forEach((callback) => callback()),
    answer: () => answers.splice(0).forEach((resolve) => resolve(text)),
  }
}

t.test('load() fails after 5 seconds if a key file hangs, and names the option', async (t) => {
  const configs = [
    ['jwt.keys', { keys: 'keys.json' }],
    ['jwt.rsa.public', { rsa: { public: 'rsa.pem' }, signingMethod: 'RS256' }],
  ] as const
  for (const [option, config] of configs) {
    const { fs, timeOut } = hangingDisk(t, '')
    const loading = rejectionOf(new JwtService(config, { fs }).load())
    timeOut()
    const { code, message } = await loading
    t.equal(code, 'ERR_AUTH_KEY')
    t.match(message, `option "${option}"`)
    t.match(message, '5 seconds')
  }
})

t.test('a reload that hangs fails, runs once, and works when the disk is back', async (t) => {
  const { fs, answers, answer, timeOut } = hangingDisk(t, JSON.stringify([entries.a]))
  const reported: unknown[] = []
  const log = { error: ({ err }: { err: unknown }) => reported.push(err) }
  const service = new JwtService({ keys: 'keys.json', reloadEvery: 0.01 }, { fs, log })
  t.teardown(() => service.close())
  const loading = service.load()
  await until(() => answers.length === 1, 'the file is asked for')
  answer()
  await loading
  await until(() => answers.length === 1, 'the timer asks for it')
  timeOut()
  await until(() => service.stats().keys.failures > 2, 'the timer goes on')
  t.equal(answers.length, 1, 'one read occupies a thread, and no more')
  t.match(reported, [{ code: 'ERR_AUTH_KEY' }])
  t.equal(service.verify(service.generateToken('alice')).sub, 'alice')
  await until(() => {
    answer()
    return service.stats().keys.reloads > 0
  }, 'the file is read again')
})
