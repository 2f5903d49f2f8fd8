import { createRequire } from 'node:module'
import type { LRUCache } from 'lru-cache'

/**
 * Loads a package at its first use: loading those that startup does not need would take a fifth of what the plugin adds
 * to the startup of an app. The build turns calls of it into `require`, which bundlers follow.
 */
export const onDemand = /* @__PURE__ */ createRequire(import.meta.url)

/** @returns a function that gives a cache, which it makes at the first call */
export function lruCache<K extends object | string, V extends object | string | boolean>(
  options: LRUCache.Options<K, V, unknown>,
): () => LRUCache<K, V> {
  let cache: LRUCache<K, V> | undefined
  return () => {
    if (cache !== undefined) return cache
    const { LRUCache } = onDemand('lru-cache') as typeof import('lru-cache')
    return (cache = new LRUCache<K, V>(options))
  }
}
