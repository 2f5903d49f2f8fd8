// program: docs
// Also holds lib/index.ts.
// Hovering over a public name in an editor shows its documentation: of everything that the built
// declarations export, of its members, and of what they add to Fastify's interfaces.
import { existsSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { root } from './helpers/project.js'

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  noLib: true,
  types: [],
}

/** Reads the declarations of this package only: those of others take three seconds. */
function hostOfOurs(): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  host.resolveModuleNameLiterals = (literals, file, redirected, settings) =>
    literals.map(({ text }) =>
      text.startsWith('.')
        ? ts.resolveModuleName(text, file, settings, host, undefined, redirected)
        : { resolvedModule: undefined },
    )
  return host
}

/** Where names stand that editors do not show. */
const skipped = [ts.isTypeParameterDeclaration, ts.isParameter, ts.isConditionalTypeNode]

interface Documented {
  /** Names that have documentation. */
  readonly documented: Set<string>
  /** Names that have none. */
  readonly bare: string[]
}

/** What an editor shows of the public names of a declaration file. */
function hover(program: ts.Program, entry: string): Documented {
  const checker = program.getTypeChecker()
  const result: Documented = { documented: new Set(), bare: [] }
  for (const [name, node] of publicNames(program, entry)) {
    if (result.documented.has(name)) continue
    const shown = checker.getSymbolAtLocation(node)?.getDocumentationComment(checker)
    const comment = ts.displayPartsToString(shown).trim()
    if (comment === '' || /^See \S+\.?$/.test(comment.replaceAll(/\{@link |\}/g, ''))) {
      result.bare.push(name)
    } else {
      result.documented.add(name)
    }
  }
  return result
}

/** The names of a declaration file that an app can hover over, each with a node that declares it. */
function publicNames(program: ts.Program, entry: string): Map<string, ts.Node> {
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(entry) as ts.SourceFile
  const found = new Map<string, ts.Node>()
  const ours = (node: ts.Node): boolean =>
    !/\/node_modules\/|\/typescript\/lib\//.test(node.getSourceFile().fileName)

  for (const symbol of checker.getExportsOfModule(checker.getSymbolAtLocation(file) as ts.Symbol)) {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    for (const declaration of target.declarations?.filter(ours) ?? []) {
      add(symbol.name, declaration)
    }
  }
  for (const source of program.getSourceFiles().filter(ours)) {
    for (const statement of source.statements) {
      if (!ts.isModuleDeclaration(statement) || !ts.isStringLiteral(statement.name)) continue
      for (const declaration of (statement.body as ts.ModuleBlock).statements) {
        if (ts.isInterfaceDeclaration(declaration)) {
          members(`${statement.name.text}.${declaration.name.text}`, declaration)
        }
      }
    }
  }
  return found

  function add(name: string, declaration: ts.Node): void {
    const named = (declaration as ts.NamedDeclaration).name
    if (named !== undefined && !found.has(name)) found.set(name, named)
    members(name, declaration)
  }

  /** What has a name inside of a declaration, at any depth. */
  function members(owner: string, declaration: ts.Node): void {
    ts.forEachChild(declaration, function visit(node): void {
      const isMember =
        ts.isPropertySignature(node) ||
        ts.isMethodSignature(node) ||
        ts.isPropertyDeclaration(node) ||
        ts.isMethodDeclaration(node) ||
        ts.isAccessor(node)
      if (isMember && ts.isIdentifier(node.name)) {
        if (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) return
        add(`${owner}.${node.name.text}`, node)
      } else if (!skipped.some((is) => is(node))) {
        ts.forEachChild(node, visit)
      }
    })
  }
}

/** Declarations of an entry point, with names that have to be among those that are looked at. */
interface Entry {
  readonly file: string
  readonly least: number
  readonly names: readonly string[]
}
const main = {
  least: 150,
  names: [
    'default',
    'AuthnOptions.login',
    'AuthnEvents.failure',
    'AuthnStats.hashing.running',
    'JwtClaims.exp',
    'JwtService.verify',
    'anyOf',
    'fastify.FastifyRequest.user',
    'fastify.FastifyInstance.jwtService',
  ],
}
const context = { least: 1, names: ['userFromContext', 'runAs'] }
const sessions = {
  least: 40,
  names: [
    'memorySessions',
    'redisSessions',
    'sqlSessions',
    'SessionStore.swap',
    'StoredSession.sid',
    'SqlQuery',
  ],
}
const apiKeys = {
  least: 30,
  names: ['redisApiKeys', 'sqlApiKeys', 'ApiKeyStore.replace', 'SqlQuery'],
}
const users = { least: 60, names: ['sqlUsers', 'memoryUsers', 'UserStore.swap', 'SqlQuery'] }
const providers = {
  least: 15,
  names: ['github', 'apple', 'microsoft', 'MicrosoftEntry.tenant', 'OwnHost.baseUrl'],
}
const browser = { least: 30, names: ['createSession', 'SessionOptions.tokens', 'Session.fetch'] }
const passkeys = { least: 10, names: ['createPasskeys', 'Passkeys.autofill', 'PasskeyList.rpId'] }
const kit = { least: 25, names: ['actingAs', 'mintToken', 'MintOptions.broken', 'AttackReport'] }
const entries: Readonly<Record<string, Entry>> = {
  esm: { file: 'dist/esm/lib/index.d.ts', ...main },
  cjs: { file: 'dist/cjs/index.d.ts', ...main },
  'context, esm': { file: 'dist/esm/lib/request/context.d.ts', ...context },
  'context, cjs': { file: 'dist/cjs/lib/request/context.d.ts', ...context },
  'sessions, esm': { file: 'dist/esm/lib/sessions/index.d.ts', ...sessions },
  'sessions, cjs': { file: 'dist/cjs/lib/sessions/index.d.ts', ...sessions },
  'api-keys, esm': { file: 'dist/esm/lib/api-keys/index.d.ts', ...apiKeys },
  'api-keys, cjs': { file: 'dist/cjs/lib/api-keys/index.d.ts', ...apiKeys },
  'users, esm': { file: 'dist/esm/lib/users-table/index.d.ts', ...users },
  'users, cjs': { file: 'dist/cjs/lib/users-table/index.d.ts', ...users },
  'providers, esm': { file: 'dist/esm/lib/providers/index.d.ts', ...providers },
  'providers, cjs': { file: 'dist/cjs/lib/providers/index.d.ts', ...providers },
  'browser, esm': { file: 'dist/esm/lib/browser/index.d.ts', ...browser },
  'browser, cjs': { file: 'dist/cjs/lib/browser/index.d.ts', ...browser },
  'passkeys, esm': { file: 'dist/esm/lib/browser/passkeys.d.ts', ...passkeys },
  'passkeys, cjs': { file: 'dist/cjs/lib/browser/passkeys.d.ts', ...passkeys },
  'testing, esm': { file: 'dist/esm/lib/testing/index.d.ts', ...kit },
  'testing, cjs': { file: 'dist/cjs/lib/testing/index.d.ts', ...kit },
}

const all = Object.values(entries).map(({ file }) => path.join(root, file))
const built = ts.createProgram(all, options, hostOfOurs())

for (const [title, { file, least, names }] of Object.entries(entries)) {
  t.test(`${title}: every public name has its documentation`, async (t) => {
    const entry = path.join(root, file)
    t.ok(existsSync(entry), `${file} is there (npm run build)`)
    const { documented, bare } = hover(built, entry)
    t.strictSame(bare, [], 'names without documentation')
    for (const name of names) t.ok(documented.has(name), `${name} was looked at`)
    t.ok(documented.size > least, `${documented.size} names`)
  })
}
