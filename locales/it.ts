import type { Catalogue } from '../types/messages.js'

export const it = {
  'auth.invalid-credentials': 'Credenziali non valide.',
  'auth.no-credentials-provided': 'Intestazione di autenticazione mancante o non valida.',
  'auth.jwt-invalid': 'Il token di autenticazione non è valido.',
  'auth.logged-out': 'È stata effettuata la disconnessione.',
  'auth.jwt-not-valid-yet': 'Il token di autenticazione non è ancora valido.',
  'auth.jwt-expired': 'Il token di autenticazione è scaduto.',
  'auth.api-key-invalid': 'La chiave API non è valida.',
  'auth.api-key-expired': 'La chiave API è scaduta.',
  'auth.api-key-not-accepted': 'Questa route non accetta chiavi API.',
  'auth.credentials-not-accepted': 'Questa route non accetta queste credenziali.',
  'auth.overloaded': 'Il server è sovraccarico. Riprovare più tardi.',
  'auth.too-many-attempts': 'Troppi tentativi non riusciti. Riprovare più tardi.',
  'auth.insufficient-authentication': 'Conferma la tua identità.',
  'auth.insufficient-scope': 'Le credenziali non consentono questa azione.',
  'auth.forbidden': 'Non si dispone dei permessi per farlo.',
  'auth.cross-site': 'Le richieste provenienti da altri siti non sono accettate.',
  'auth.token-delivery': 'I token nel corpo sono riservati ai client che non sono browser.',
  'auth.refresh-invalid': 'La sessione è terminata. Effettuare di nuovo l’accesso.',
  'auth.refresh-reused':
    'La sessione è stata chiusa per motivi di sicurezza. Effettuare di nuovo l’accesso.',
  'auth.login-expired': 'Il tempo per l’accesso è scaduto. Riprovare.',
  'auth.login-failed': 'L’accesso non è riuscito.',
  'auth.link-taken': 'Questo account del provider appartiene a un altro utente.',
  'auth.passkey-invalid': 'Questa passkey non è stata accettata. Riprovare.',
  'auth.passkey-last':
    'È l’unico modo per accedere. Aggiungere prima una password o un’altra passkey.',
  'auth.link-invalid': 'Questo link non è più valido. Richiederne un altro.',
  'auth.password-too-short':
    'La password è troppo corta. Usare almeno {minPasswordLength} caratteri.',
  'auth.password-too-long': 'La password è troppo lunga.',
  'auth.password-guessable': 'La password è facile da indovinare. Sceglierne un’altra.',
  'auth.current-password': 'La password attuale non è corretta.',
  'auth.too-many-mails': 'Sono state richieste troppe e-mail. Riprovare più tardi.',
  'auth.code-invalid': 'Questo codice è errato o è già stato usato.',
  'auth.mail-code-invalid': 'Questo codice è errato. Vale solo dove è stata richiesta l’e-mail.',
  'auth.account-exists':
    'Esiste già un account con questo indirizzo. Accedere a quell’account e collegare lì il provider.',
  'auth.account-disabled': 'Questo account è sospeso. Contattare l’assistenza.',
  'auth.identity-last':
    'È l’unico modo per accedere. Impostare prima una password o aggiungere una passkey.',
  'auth.own-account': 'Per il proprio account, deve farlo un altro amministratore.',
  'auth.not-found': 'Questo elemento non esiste.',
} satisfies Partial<Catalogue>
