/** Files in memory, with a count of how often each one was read. */
export function memoryFs(files: Record<string, string | Buffer>) {
  const stored = new Map(Object.entries(files))
  const reads: Record<string, number> = {}
  return {
    files: stored,
    reads,
    async readFile(path: string) {
      reads[path] = (reads[path] ?? 0) + 1
      const text = stored.get(path)
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
      return text
    },
  }
}
