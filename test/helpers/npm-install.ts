// `npm install` of test/helpers/tutorial.ts, without a network: links the packages out of the node_modules of this project,
// and copies this package itself as it is packed. One that is not there is an error, as for npm.
//
//   node npm-install.js <the unpacked package> [-D | --save-dev] <names>
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { root } from './project.js'

interface Manifest {
  name: string
  version: string
  bin?: string | Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

const [packed = '', ...words] = process.argv.slice(2)
const isDev = words.some((word) => word === '-D' || word === '--save-dev')
const names = words
  .filter((word) => !word.startsWith('-'))
  .map((word) => word.replace(/(?<=.)@.*$/, ''))
const read = (folder: string): Manifest =>
  JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest
const own = read(packed)
const manifest = read('.')
const field = isDev ? 'devDependencies' : 'dependencies'

for (const name of names) {
  const { version } = install(name)
  manifest[field] = { ...manifest[field], [name]: `^${version}` }
}
writeFileSync('package.json', `${JSON.stringify(manifest, null, 2)}\n`)
console.log(`added ${names.length} packages`)

function install(name: string): Manifest {
  const target = path.resolve('node_modules', name)
  const isOwn = name === own.name
  // That of the project is older, to build with.
  const folder = name === 'typescript' ? 'typescript7' : name
  const source = isOwn ? packed : path.join(root, 'node_modules', folder)
  if (!existsSync(source)) throw new Error(`${name} is not in the node_modules of the project`)
  rmSync(target, { recursive: true, force: true })
  mkdirSync(path.dirname(target), { recursive: true })
  if (isOwn) {
    cpSync(source, target, { recursive: true })
    const needed = Object.keys({ ...own.dependencies, ...own.peerDependencies })
    for (const each of needed) if (!existsSync(path.resolve('node_modules', each))) install(each)
  } else {
    symlinkSync(source, target, 'junction')
  }
  const found = read(source)
  const programs =
    typeof found.bin === 'string' ? { [name.replace(/^.*\//, '')]: found.bin } : found.bin
  for (const [program, file] of Object.entries(programs ?? {})) {
    const link = path.resolve('node_modules/.bin', program)
    mkdirSync(path.dirname(link), { recursive: true })
    rmSync(link, { force: true })
    symlinkSync(path.join(target, file), link)
  }
  return found
}
