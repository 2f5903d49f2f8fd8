/** A case that only raw bytes can express. */
export interface WireCase {
  readonly name: string
  /** Lines of the head, below `Host`. */
  readonly lines: readonly string[]
  /** Whether it counts as no credentials, where these are optional. */
  readonly none?: boolean
}

/**
 * Heads of requests.
 *
 * @param good - a value of `Authorization` that is let in, if any is known
 * @param bad - one that is not
 */
export function wireCases(good: string | undefined, bad: string): WireCase[] {
  const line = (value: string): string => `Authorization: ${value}`
  const [scheme = ''] = bad.split(' ')
  const cases: WireCase[] = [
    { name: 'a header of 17 KiB', lines: [line(`${scheme} ${'a'.repeat(17_408)}`)] },
    { name: 'a hundred headers', lines: Array.from({ length: 100 }, () => line(bad)) },
    { name: 'NUL in the header', lines: [line(`${scheme} a\0b`)] },
    { name: 'a bare CR in the header', lines: [line(`${scheme} a\rb`)] },
    { name: 'bytes above 127', lines: [line(`${scheme} \x80\xff\xfe`)] },
    { name: 'an empty header', lines: ['Authorization:'], none: true },
    { name: 'a header without a colon', lines: ['Authorization'] },
  ]
  if (good === undefined) return cases
  const [, credentials = ''] = good.split(' ')
  return [
    ...cases,
    { name: 'a bad header before a good one', lines: [line(bad), line(good)] },
    { name: 'a good header before a bad one', lines: [line(good), line(bad)] },
    { name: 'a good header twice', lines: [line(good), line(good)] },
    { name: 'twice, in capitals', lines: [line(good), `AUTHORIZATION: ${good}`] },
    { name: 'a space before the colon', lines: [`Authorization : ${good}`] },
    { name: 'continued on the next line', lines: [line(good), ` ${credentials}`] },
    {
      name: 'a good one as Proxy-Authorization',
      lines: [`Proxy-Authorization: ${good}`],
      none: true,
    },
    { name: 'a good one as X-Authorization', lines: [`X-Authorization: ${good}`], none: true },
  ]
}
