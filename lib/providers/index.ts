/**
 * Entries of the option `loginWith`. Each takes the options of an entry, and returns them with what the provider needs.
 * @module fastify-authn/providers
 */
export { apple } from './apple.js'
export { discord } from './discord.js'
export { facebook } from './facebook.js'
export { github } from './github.js'
export { gitlab } from './gitlab.js'
export { google } from './google.js'
export { linkedin } from './linkedin.js'
export { microsoft } from './microsoft.js'
export { slack } from './slack.js'
export { spotify } from './spotify.js'
export { twitch } from './twitch.js'
export { x } from './x.js'
export type * from '../../types/providers.js'
