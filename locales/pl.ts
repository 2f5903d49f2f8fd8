import type { Catalogue } from '../types/messages.js'

export const pl = {
  'auth.invalid-credentials': 'Nieprawidłowe dane logowania.',
  'auth.no-credentials-provided': 'Brak nagłówka uwierzytelniania lub nagłówek jest nieprawidłowy.',
  'auth.jwt-invalid': 'Token uwierzytelniania jest nieprawidłowy.',
  'auth.logged-out': 'Nastąpiło wylogowanie.',
  'auth.jwt-not-valid-yet': 'Token uwierzytelniania nie jest jeszcze ważny.',
  'auth.jwt-expired': 'Token uwierzytelniania wygasł.',
  'auth.api-key-invalid': 'Klucz API jest nieprawidłowy.',
  'auth.api-key-expired': 'Klucz API wygasł.',
  'auth.api-key-not-accepted': 'Ta ścieżka nie przyjmuje kluczy API.',
  'auth.credentials-not-accepted': 'Ta ścieżka nie przyjmuje tych danych logowania.',
  'auth.overloaded': 'Serwer jest przeciążony. Proszę spróbować ponownie później.',
  'auth.too-many-attempts': 'Zbyt wiele nieudanych prób. Proszę spróbować ponownie później.',
  'auth.insufficient-authentication': 'Potwierdź swoją tożsamość.',
  'auth.insufficient-scope': 'Dane uwierzytelniające nie pozwalają na tę czynność.',
  'auth.forbidden': 'Brak uprawnień do wykonania tej czynności.',
  'auth.cross-site': 'Żądania z innych witryn nie są przyjmowane.',
  'auth.refresh-invalid': 'Sesja dobiegła końca. Zaloguj się ponownie.',
  'auth.refresh-reused':
    'Sesja została zakończona ze względów bezpieczeństwa. Zaloguj się ponownie.',
  'auth.account-exists':
    'Istnieje już konto z tym adresem. Zaloguj się na nie i tam połącz dostawcę.',
  'auth.account-disabled': 'To konto zostało zawieszone. Skontaktuj się z pomocą techniczną.',
  'auth.identity-last': 'To jedyny sposób logowania. Najpierw ustaw hasło lub dodaj klucz dostępu.',
  'auth.own-account': 'W przypadku własnego konta musi to zrobić inny administrator.',
  'auth.not-found': 'To nie istnieje.',
} satisfies Partial<Catalogue>
