// The last line of `npm test`: `3 passed, 0 failed`. Groups of tests do not count.
export default async function* total(events) {
  const count = { 'test:pass': 0, 'test:fail': 0 }
  for await (const { type, data } of events) {
    const isTest = data?.details?.type !== 'suite' && data?.skip === undefined
    if (type in count && isTest) count[type]++
  }
  yield `${count['test:pass']} passed, ${count['test:fail']} failed\n`
}
