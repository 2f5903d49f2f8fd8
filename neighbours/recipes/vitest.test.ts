import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

test('Vitest runs the test kit', () => {
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=json',
    'recipes/vitest.spec.ts',
  ]
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 120_000, env })
  const { numPassedTests, success } = JSON.parse(output.slice(output.indexOf('{'))) as {
    numPassedTests: number
    success: boolean
  }
  assert.deepEqual([success, numPassedTests], [true, 2])
})
