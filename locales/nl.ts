import type { Catalogue } from '../types/messages.js'

export const nl = {
  'auth.invalid-credentials': 'Ongeldige inloggegevens.',
  'auth.no-credentials-provided': 'De authenticatieheader ontbreekt of is ongeldig.',
  'auth.jwt-invalid': 'Uw authenticatietoken is ongeldig.',
  'auth.jwt-not-valid-yet': 'Uw authenticatietoken is nog niet geldig.',
  'auth.jwt-expired': 'Uw authenticatietoken is verlopen.',
  'auth.api-key-invalid': 'Uw API-sleutel is ongeldig.',
  'auth.api-key-expired': 'Uw API-sleutel is verlopen.',
  'auth.api-key-not-accepted': 'Deze route accepteert geen API-sleutels.',
  'auth.credentials-not-accepted': 'Deze route accepteert deze inloggegevens niet.',
  'auth.overloaded': 'De server is overbelast. Probeer het later opnieuw.',
  'auth.too-many-attempts': 'Te veel mislukte pogingen. Probeer het later opnieuw.',
  'auth.insufficient-scope': 'Uw inloggegevens staan deze actie niet toe.',
  'auth.forbidden': 'U mag dit niet doen.',
  'auth.cross-site': 'Verzoeken van andere websites worden niet geaccepteerd.',
  'auth.refresh-invalid': 'Uw sessie is beëindigd. Log opnieuw in.',
  'auth.refresh-reused': 'Uw sessie is voor uw veiligheid beëindigd. Log opnieuw in.',
  'auth.login-expired': 'Uw inlogpoging is verlopen. Probeer het opnieuw.',
  'auth.login-failed': 'Het inloggen is niet gelukt.',
} satisfies Partial<Catalogue>
