/** Files in memory, with a count of how often each one was read. */
export interface MemoryFs {
  readonly files: Map<string, string | Buffer>
  readonly reads: Record<string, number>
  readFile(path: string): Promise<string | Buffer>
}

export function memoryFs(files: Record<string, string | Buffer>): MemoryFs {
  const stored = new Map(Object.entries(files))
  const reads: Record<string, number> = {}
  return {
    files: stored,
    reads,
    async readFile(path) {
      reads[path] = (reads[path] ?? 0) + 1
      const text = stored.get(path)
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
      return text
    },
  }
}
