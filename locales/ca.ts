import type { Catalogue } from '../types/messages.js'

export const ca = {
  'auth.invalid-credentials': 'Les credencials no són vàlides.',
  'auth.no-credentials-provided': 'Falta la capçalera d’autenticació o no és vàlida.',
  'auth.jwt-invalid': 'El vostre testimoni d’autenticació no és vàlid.',
  'auth.logged-out': 'S’ha tancat la vostra sessió.',
  'auth.jwt-not-valid-yet': 'El vostre testimoni d’autenticació encara no és vàlid.',
  'auth.jwt-expired': 'El vostre testimoni d’autenticació ha caducat.',
  'auth.api-key-invalid': 'La vostra clau d’API no és vàlida.',
  'auth.api-key-expired': 'La vostra clau d’API ha caducat.',
  'auth.api-key-not-accepted': 'Aquesta ruta no accepta claus d’API.',
  'auth.credentials-not-accepted': 'Aquesta ruta no accepta aquestes credencials.',
  'auth.overloaded': 'El servidor està sobrecarregat. Torneu-ho a provar més tard.',
  'auth.too-many-attempts': 'Hi ha hagut massa intents fallits. Torneu-ho a provar més tard.',
  'auth.insufficient-scope': 'Les vostres credencials no permeten aquesta acció.',
  'auth.forbidden': 'No teniu permís per fer això.',
  'auth.cross-site': 'No s’accepten peticions d’altres llocs web.',
  'auth.refresh-invalid': 'La vostra sessió ha acabat. Torneu a iniciar la sessió.',
  'auth.refresh-reused': 'La vostra sessió s’ha tancat per seguretat. Torneu a iniciar la sessió.',
  'auth.account-exists':
    'Ja hi ha un compte amb aquesta adreça. Inicieu-hi la sessió i connecteu-hi el proveïdor.',
  'auth.account-disabled': 'Aquest compte està suspès. Contacteu amb el servei d’assistència.',
  'auth.identity-last':
    'És la vostra única manera d’entrar. Definiu primer una contrasenya o afegiu una clau d’accés.',
  'auth.own-account': 'Un altre administrador ho ha de fer per al vostre compte.',
  'auth.not-found': 'Això no existeix.',
} satisfies Partial<Catalogue>
