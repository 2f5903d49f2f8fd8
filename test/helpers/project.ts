import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of lib/ and test/ that runs. */
export const tree = fileURLToPath(new URL('../../', import.meta.url))
/** Whether it is the copy that scripts/compile-tests.js has made, and no TypeScript has to be loaded. */
export const isCompiled = path.basename(tree) === '.tests'

/** The folder of package.json. */
export const root = isCompiled ? path.join(tree, '../') : tree

/** Where a source file such as `lib/index.ts` runs: that file, or the JavaScript made of it. */
export const programOf = (file: string): string =>
  path.join(tree, isCompiled ? file.replace(/\.ts$/, '.js') : file)

/** What Node.js needs before the name of such a file. */
export const nodeArguments: readonly string[] = isCompiled
  ? ['--no-warnings']
  : ['--no-warnings', '--import', 'tsx']
