import type { Catalogue } from '../types/messages.js'

export const da = {
  'auth.invalid-credentials': 'Ugyldige loginoplysninger.',
  'auth.no-credentials-provided': 'Godkendelsesheaderen mangler eller er ugyldig.',
  'auth.jwt-invalid': 'Dit godkendelsestoken er ugyldigt.',
  'auth.logged-out': 'Du er blevet logget ud.',
  'auth.jwt-not-valid-yet': 'Dit godkendelsestoken er ikke gyldigt endnu.',
  'auth.jwt-expired': 'Dit godkendelsestoken er udløbet.',
  'auth.api-key-invalid': 'Din API-nøgle er ugyldig.',
  'auth.api-key-expired': 'Din API-nøgle er udløbet.',
  'auth.api-key-not-accepted': 'Denne adresse accepterer ikke API-nøgler.',
  'auth.credentials-not-accepted': 'Denne adresse accepterer ikke disse loginoplysninger.',
  'auth.overloaded': 'Serveren er overbelastet. Prøv igen senere.',
  'auth.too-many-attempts': 'For mange mislykkede forsøg. Prøv igen senere.',
  'auth.insufficient-authentication': 'Bekræft, at det er dig.',
  'auth.insufficient-scope': 'Dine legitimationsoplysninger tillader ikke denne handling.',
  'auth.forbidden': 'Du har ikke tilladelse til at gøre dette.',
  'auth.cross-site': 'Anmodninger fra andre websteder accepteres ikke.',
  'auth.refresh-invalid': 'Din session er slut. Log ind igen.',
  'auth.refresh-reused': 'Din session blev afsluttet af sikkerhedshensyn. Log ind igen.',
  'auth.account-exists':
    'Der findes en konto med denne adresse. Log ind på den, og tilknyt udbyderen der.',
  'auth.account-disabled': 'Denne konto er spærret. Kontakt support.',
  'auth.identity-last':
    'Det er din eneste måde at logge ind på. Vælg først en adgangskode, eller tilføj en adgangsnøgle.',
  'auth.own-account': 'En anden administrator skal gøre dette for din egen konto.',
  'auth.not-found': 'Dette findes ikke.',
} satisfies Partial<Catalogue>
