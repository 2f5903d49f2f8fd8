import type { Catalogue } from '../types/messages.js'

export const sk = {
  'auth.invalid-credentials': 'Neplatné prihlasovacie údaje.',
  'auth.no-credentials-provided': 'Neplatná alebo chýbajúca autentifikačná hlavička.',
  'auth.jwt-invalid': 'Váš autentifikačný token je neplatný.',
  'auth.logged-out': 'Boli ste odhlásení.',
  'auth.jwt-not-valid-yet': 'Váš autentifikačný token ešte nie je platný.',
  'auth.jwt-expired': 'Platnosť vášho autentifikačného tokenu uplynula.',
  'auth.api-key-invalid': 'Váš kľúč API je neplatný.',
  'auth.api-key-expired': 'Platnosť vášho kľúča API uplynula.',
  'auth.api-key-not-accepted': 'Táto adresa neprijíma kľúče API.',
  'auth.credentials-not-accepted': 'Táto adresa neprijíma tieto prihlasovacie údaje.',
  'auth.overloaded': 'Server je preťažený. Skúste to znova neskôr.',
  'auth.too-many-attempts': 'Príliš veľa neúspešných pokusov. Skúste to znova neskôr.',
  'auth.insufficient-scope': 'Vaše prihlasovacie údaje túto akciu neumožňujú.',
  'auth.forbidden': 'Na toto nemáte oprávnenie.',
  'auth.cross-site': 'Požiadavky z iných webov nie sú prijímané.',
  'auth.refresh-invalid': 'Vaša relácia sa skončila. Prihláste sa znova.',
  'auth.refresh-reused': 'Vaša relácia bola z bezpečnostných dôvodov ukončená. Prihláste sa znova.',
  'auth.account-exists':
    'Účet s touto adresou už existuje. Prihláste sa doň a poskytovateľa pripojte tam.',
  'auth.account-disabled': 'Tento účet je pozastavený. Obráťte sa na podporu.',
  'auth.identity-last':
    'Inak sa prihlásiť nemôžete. Najprv si nastavte heslo alebo pridajte prístupový kľúč.',
  'auth.own-account': 'Pri vašom vlastnom účte to musí urobiť iný správca.',
  'auth.not-found': 'Toto neexistuje.',
} satisfies Partial<Catalogue>
