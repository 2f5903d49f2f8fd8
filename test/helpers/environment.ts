import type { Test } from 'tap'

/** Sets `NODE_ENV` for one test, which may change it further. */
export function setNodeEnv(t: Test, name: string): void {
  const { NODE_ENV } = process.env
  t.teardown(() => {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  })
  process.env.NODE_ENV = name
}
