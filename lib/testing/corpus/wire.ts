/** A request that can only be sent as raw bytes. */
export interface WireCase {
  readonly name: string
  /** The header lines after `Host`. */
  readonly lines: readonly string[]
  /** Whether the request counts as one without credentials, which optional routes accept. */
  readonly none?: boolean
}

/**
 * Heads of requests.
 *
 * @param good - a value of `Authorization` that is accepted, if one is known
 * @param bad - a value that is refused
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
