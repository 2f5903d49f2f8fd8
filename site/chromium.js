import { existsSync } from 'node:fs'
import path from 'node:path'

/** The program of a Chromium that is installed, or null. */
export function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const folders = (process.env.PATH ?? '').split(path.delimiter)
  const found = names.flatMap((name) => folders.map((folder) => path.join(folder, name)))
  return found.find((file) => existsSync(file)) ?? null
}

/** Opens a page in it, and closes it when `use` has ended. */
export async function withChromium(executablePath, use) {
  const { chromium } = await import('playwright-core')
  const args = ['--no-proxy-server', '--disable-gpu', '--disable-background-networking']
  const browser = await chromium.launch({ executablePath, timeout: 120_000, args })
  try {
    const context = await browser.newContext()
    context.setDefaultTimeout(60_000)
    return await use(await context.newPage())
  } finally {
    await browser.close()
  }
}
