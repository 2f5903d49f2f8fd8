/**
 * PEM in the lines that OpenSSL reads. RFC 7468 §3 allows white space of ASCII in them, as YAML leaves it; OpenSSL overlooks any
 * other at their ends. In environment variables line ends are often escaped. Text before BEGIN on its line makes a comment of it.
 */
export function pemOf(text: string): string {
  const inLines = (_: string, begin: string, base64: string, end: string): string =>
    [begin, ...(base64.replaceAll(/\s/g, '').match(/.{1,64}/g) ?? []), end].join('\n')
  return `\n${text.replace(/^\ufeff/, '')}\n`
    .replaceAll(/[^ -~\r\n]/g, (other) => ('\t\v\f'.includes(other) ? ' ' : '?'))
    .replaceAll(/ *(?:(?:\\+r)?\\+n|\\+r|\r\n?|\n) */g, '\n')
    .replaceAll(/(?<=\n)(-----BEGIN [^-]+-----)([\w+/= \n]+)(-----END [^-]+-----)(?=\n)/g, inLines)
}
