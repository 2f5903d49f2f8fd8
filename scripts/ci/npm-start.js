// `npm start`: the demo answers a login within a minute, and ends when it is asked to.
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const demo = spawn('npm', ['start'], {
  env: { ...process.env, PORT: '0', LOG_LEVEL: 'silent' },
  stdio: ['ignore', 'pipe', 'inherit'],
})
const exit = once(demo, 'exit')
const late = setTimeout(() => demo.kill('SIGKILL'), 75_000)
let output = ''
let isRight = false
for await (const data of demo.stdout) {
  output += data
  const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
  if (address === undefined || isRight) continue
  const body = new URLSearchParams('email=alice@example.org&password=wrong')
  const { status } = await fetch(`${address}/login`, { method: 'POST', body })
  isRight = status === 401
  demo.kill()
}
const [, signal] = await exit
clearTimeout(late)
isRight &&= signal !== 'SIGKILL'
console.log(`${Number(isRight)} passed, ${Number(!isRight)} failed`)
