import { AuthnUsageError } from '../errors.js'
import { endSessions, type SessionTools } from './tools.js'
import type { SessionInfo, Sessions } from '../../types/session-api.js'
import type { StoredSession } from '../../types/sessions.js'

/** `app.authn.sessions`. */
export function sessionsApi(tools: Pick<SessionTools, 'access' | 'ends' | 'keepEnd'>): Sessions {
  return {
    async list(sub) {
      const name = nameOf(sub, 'list', 'sub')
      const stored = await tools.access.ask((store) => store.list(name))
      return stored.filter(({ sid }) => !tools.ends.has(sid)).map(infoOf)
    },
    async end(which) {
      const { sid, sub } = (which ?? {}) as { sid?: unknown; sub?: unknown }
      // One that is undefined must not be taken for everybody.
      if ((sid === undefined) === (sub === undefined)) {
        misuse('end(): expected { sid } or { sub }.')
      }
      const wanted =
        sid === undefined ? { sub: nameOf(sub, 'end', 'sub') } : { sid: nameOf(sid, 'end', 'sid') }
      return endSessions(tools, wanted)
    },
  }
}

function infoOf({ sid, created, lastUsed, address, userAgent }: StoredSession): SessionInfo {
  return {
    sid,
    created: new Date(created * 1000),
    lastUsed: new Date(lastUsed * 1000),
    address,
    userAgent,
  }
}

function nameOf(value: unknown, method: string, name: string): string {
  const isName = typeof value === 'string' ? value !== '' : Number.isFinite(value)
  return isName
    ? String(value)
    : misuse(`${method}(): found no name as "${name}", expected a text or a number.`)
}

function misuse(problem: string): never {
  throw new AuthnUsageError('ERR_AUTH_CLAIMS', `sessions.${problem}`)
}
