import { onceAMinute } from '../../common/once-a-minute.js'
import { withTimeout } from '../../common/timeout.js'
import { AuthnUsageError } from '../../errors/errors.js'
import { keyError, readKeyFile, type Key } from './key.js'
import { Keyset, type KeyUse } from './keyset.js'
import { keyFilePaths, parseKeys } from './parse.js'
import type { ResolvedJwtConfig } from '../../options/resolve-jwt.js'
import type { JwtStats, KeyFileSystem, KeyLog, SigningMethod } from '../../../types/keys.js'

/** Milliseconds for reading all files of the keys. */
const readTime = 5_000

/** Holds the current key set, and replaces it as a whole or not at all. */
export class KeyStore {
  readonly #config: ResolvedJwtConfig
  readonly #fs: KeyFileSystem
  readonly #log: KeyLog
  readonly #counts = { hits: 0, misses: 0 }
  /** Checks that a reloaded key set has to pass. */
  readonly #needs = new Map<string, (keys: Keyset) => void>()
  #keys: Keyset | undefined
  #started = 0
  #finished = 0
  #loading: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #isHanging = false
  #reloads = 0
  #failures = 0

  /** @throws ERR_AUTH_KEY for a bad key that needs no file */
  constructor(config: ResolvedJwtConfig, fs: KeyFileSystem, log: KeyLog) {
    this.#config = config
    this.#fs = fs
    this.#log = log
    if (config.keys === undefined && keyFilePaths(config).size === 0) {
      this.#keys = new Keyset(parseKeys(config, new Map()), config, this.#counts)
    }
  }

  get current(): Keyset {
    if (this.#keys !== undefined) return this.#keys
    throw new AuthnUsageError(
      'ERR_AUTH_KEY',
      'the keys of this JwtService are not read yet. Await its load() before it is used.',
    )
  }

  get stats(): JwtStats {
    const { size = 0, tokens = { size: 0, bytes: 0 } } = this.#keys ?? {}
    return {
      keys: { size, reloads: this.#reloads, failures: this.#failures },
      tokens: { ...tokens, ...this.#counts },
    }
  }

  /** Reads the keys, unless they are there, and again every `jwt.reloadEvery` seconds. */
  async load(): Promise<void> {
    if (this.#keys === undefined) {
      this.#loading ??= this.#exchange().finally(() => (this.#loading = undefined))
      await this.#loading
    }
    this.#reloadOften()
  }

  async reload(): Promise<void> {
    try {
      await this.#exchange()
      this.#reloads += 1
    } catch (error) {
      this.#failures += 1
      throw error
    }
  }

  #reloadOften(): void {
    const { keys, reloadEvery } = this.#config
    if (keys === undefined || reloadEvery === 0 || this.#timer) return
    const isReportDue = onceAMinute()
    const report = (err: unknown): void => {
      const message = 'fastify-authn: the keys could not be read again; the old ones stay in force'
      if (isReportDue()) this.#log.error({ err }, message)
    }
    const turn = (): void => void this.reload().catch(report).then(wait)
    const wait = (): void => {
      if (!this.#isClosed) this.#timer = setTimeout(turn, reloadEvery * 1000).unref()
    }
    wait()
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
  }

  /** Checks that there is a key, now and at every reload. @throws ERR_AUTH_KEY */
  require(method: SigningMethod | undefined, use: KeyUse, wanted: string): void {
    const need = (keys: Keyset): void => keys.prepare(method, use, wanted)
    need(this.current)
    this.#needs.set(`${method} ${use} ${wanted}`, need)
  }

  async #exchange(): Promise<void> {
    this.#started += 1
    const turn = this.#started
    const keys = new Keyset(await this.#readInTime(), this.#config, this.#counts)
    // A reload does not check this: a revoked key has to go, even if no public one is left.
    if (this.#keys === undefined && this.#config.publish && keys.publish(0).length === 0) {
      const remedy = 'Leave "publish" out, or add a pair of keys.'
      keyError('option "jwt.publish"', 'all keys are secrets, and none may be published.', remedy)
    }
    for (const need of this.#needs.values()) need(keys)
    // Of two simultaneous reloads, the one that began last wins.
    if (turn < this.#finished) return
    this.#finished = turn
    // Unchanged keys keep their cached tokens.
    if (JSON.stringify(this.#keys?.keys) !== JSON.stringify(keys.keys)) this.#keys = keys
  }

  /** @throws ERR_AUTH_KEY where a file hangs, as on a network volume that is gone */
  #readInTime(): Promise<Key[]> {
    const late = (): AuthnUsageError => {
      const [option = 'option "jwt.keys"'] = keyFilePaths(this.#config).values()
      const problem = `the files of the keys could not be read within ${readTime / 1000} seconds.`
      const remedy = 'Check the disk or the network volume that they are on.'
      return new AuthnUsageError('ERR_AUTH_KEY', `${option}: ${problem} ${remedy}`)
    }
    // A read that hangs occupies a thread of the process, so that a few of them would stop everything else.
    if (this.#isHanging) throw late()
    const reading = this.#read()
    return withTimeout(reading, readTime, () => {
      this.#isHanging = true
      const end = (): void => void (this.#isHanging = false)
      reading.then(end, end)
      return late()
    })
  }

  async #read(): Promise<Key[]> {
    const { keys } = this.#config
    if (keys !== undefined) {
      const { readKeyEntries } = await import('./entries.js')
      return readKeyEntries(keys, this.#fs)
    }
    const files = new Map<string, string>()
    for (const [path, name] of keyFilePaths(this.#config)) {
      files.set(path, await readKeyFile(this.#fs, name, path))
    }
    return parseKeys(this.#config, files)
  }
}
