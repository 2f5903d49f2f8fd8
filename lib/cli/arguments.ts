import { parseArgs } from 'node:util'
import { misuse, type Command, type Given, type Option } from './command.js'
import { didYouMean } from './text.js'

/** Options that every command takes. */
export const commonOptions: Readonly<Record<string, Option>> = {
  json: { text: 'print the result as JSON' },
  help: { text: 'print this help' },
}

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number]

/** The words of a command line: options with their values, and arguments. */
function tokensOf(words: readonly string[], options: Readonly<Record<string, Option>>): Token[] {
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(
      Object.entries(options).map(([name, { value }]) => [
        name,
        { type: value === undefined ? ('boolean' as const) : ('string' as const) },
      ]),
    ),
    allowPositionals: true,
    // Not strict, because the errors of Node.js quote the value, which may be a secret, and suggest nothing.
    strict: false,
    tokens: true,
  })
  return tokens
}

/** Whether help is asked for, also when other words are wrong. */
export function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  // The words themselves are compared: the parser would read `-secreth` as several switches, the last one `-h`.
  return words
    .slice(0, end === -1 ? words.length : end)
    .some((word) => word === '--help' || word === '-h')
}

/**
 * @param words - the words after the name of the command
 * @throws CliError for an option or an argument that the command does not take
 */
export function parseArguments(words: readonly string[], command: Command): Given {
  const options = { ...command.options, ...commonOptions }
  const values = new Map<string, string[]>()
  const given: string[] = []
  const { rest, dashed } = withoutDashed(words, command)
  given.push(...dashed)
  for (const token of tokensOf(rest.map(withOurName), options)) {
    if (token.kind === 'positional') given.push(token.value)
    if (token.kind === 'option') {
      const value = checkOption(token, options, command)
      const earlier = values.get(token.name)
      if (earlier !== undefined && options[token.name]?.multiple !== true) {
        misuse(`option ${token.rawName} is given twice.`)
      }
      values.set(token.name, [...(earlier ?? []), value])
    }
  }
  checkCount(given, command)
  return {
    argument: given[0],
    second: given[1],
    flag: (name) => values.has(name),
    text: (name) => values.get(name)?.[0],
    all: (name) => values.get(name) ?? [],
  }
}

/** Takes out the words that are an argument although they begin with "-". */
function withoutDashed(words: readonly string[], { argument }: Command) {
  const isDashed = (word: string): boolean => argument?.dashed?.test(word) === true
  return { rest: words.filter((word) => !isDashed(word)), dashed: words.filter(isDashed) }
}

/**
 * Reads `--env-file` as `--env`. Our option is not called `--env-file` itself, because Node.js looks for that among
 * the arguments of programs too, and exits with its own error 9 when the file is missing (nodejs/node#54232).
 */
function withOurName(word: string): string {
  return word.replace(/^--env-file(?==|$)/, '--env')
}

function checkOption(
  { name, rawName, value, inlineValue }: Extract<Token, { kind: 'option' }>,
  options: Readonly<Record<string, Option>>,
  { noArguments }: Command,
): string {
  const option = Object.hasOwn(options, name) ? options[name] : undefined
  if (option === undefined) {
    if (noArguments !== undefined) misuse(`unknown option. ${noArguments}`)
    const known = Object.keys(options).map((each) => `--${each}`)
    misuse(`unknown option ${JSON.stringify(rawName)}.${didYouMean(rawName, known)}`)
  }
  if (option.value === undefined) {
    return value === undefined ? '' : misuse(`option ${rawName} takes no value.`)
  }
  if (value === undefined || value === '') misuse(`option ${rawName} needs a value.`)
  if (value.length > 1 && value.startsWith('-') && !inlineValue) {
    misuse(`option ${rawName} needs a value. For one that begins with "-", write ${rawName}=…`)
  }
  return value
}

function checkCount(given: readonly string[], { argument, second, noArguments }: Command): void {
  const most = [argument, second].filter((each) => each !== undefined).length
  if (given.length > most) {
    const found = given.length === 1 ? 'an argument' : `${given.length} arguments`
    misuse(noArguments ?? `found ${found}, expected ${['none', 'one', 'at most two'][most]}.`)
  }
  if (argument?.required === true && given.length === 0) {
    misuse(`<${argument.name}> is missing.`, `It is: ${argument.text}.`)
  }
}
