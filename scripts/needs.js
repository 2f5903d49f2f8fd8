// What some tests need besides Node and npm. Where the program is not on PATH (test/helpers/programs.ts), such a test is
// skipped with the reason `needs <name>`, and the coverage of what only it covers is not enforced. `.ci/run` installs all.

const needs = {
  Redis: {
    install: 'apt-get install redis-server',
    covers: [
      'lib/cli/commands/sessions.ts',
      'lib/cli/commands/api-keys.ts',
      'lib/cli/store.ts',
      'lib/sessions/stores/redis.ts',
      'lib/api-keys/stores/redis.ts',
      'lib/throttle/redis-counters.ts',
    ],
  },
  PostgreSQL: {
    install: 'apt-get install postgresql, with its bin folder (/usr/lib/postgresql/*/bin) on PATH',
    covers: [
      'lib/cli/commands/sessions.ts',
      'lib/cli/commands/api-keys.ts',
      'lib/cli/store.ts',
      'lib/sessions/stores/sql.ts',
    ],
  },
  Chromium: { install: 'apt-get install chromium', covers: [] },
}

const needOf = (reason) => needs[reason.replace(/^needs /, '')]

/** One line for each reason: how many tests it has cost, and what to do about it. */
export function explainSkips(reasons) {
  return [...new Set(reasons)].map((reason) => {
    const count = reasons.filter((each) => each === reason).length
    const install = needOf(reason)?.install
    const remedy = install === undefined ? '' : `; to run them: ${install}`
    return `skipped: ${count === 1 ? '1 test' : `${count} tests`} (${reason})${remedy}`
  })
}

/** The files of lib/ that are not covered completely without these tests. */
export function uncovered(reasons) {
  return [...new Set(reasons.flatMap((reason) => needOf(reason)?.covers ?? []))]
}
