import type { Catalogue } from '../types/messages.js'

export const cs = {
  'auth.invalid-credentials': 'Neplatné přihlašovací údaje.',
  'auth.no-credentials-provided': 'Neplatná nebo chybějící autentizační hlavička.',
  'auth.jwt-invalid': 'Váš autentizační token je neplatný.',
  'auth.logged-out': 'Byli jste odhlášeni.',
  'auth.jwt-not-valid-yet': 'Váš autentizační token ještě není platný.',
  'auth.jwt-expired': 'Platnost vašeho autentizačního tokenu vypršela.',
  'auth.api-key-invalid': 'Váš klíč API je neplatný.',
  'auth.api-key-expired': 'Platnost vašeho klíče API vypršela.',
  'auth.api-key-not-accepted': 'Tato adresa nepřijímá klíče API.',
  'auth.credentials-not-accepted': 'Tato adresa nepřijímá tyto přihlašovací údaje.',
  'auth.overloaded': 'Server je přetížený. Zkuste to prosím později.',
  'auth.too-many-attempts': 'Příliš mnoho neúspěšných pokusů. Zkuste to prosím později.',
  'auth.insufficient-authentication': 'Potvrďte prosím svou totožnost.',
  'auth.insufficient-scope': 'Vaše přihlašovací údaje tuto akci neumožňují.',
  'auth.forbidden': 'K tomuto nemáte oprávnění.',
  'auth.cross-site': 'Požadavky z jiných webů nejsou přijímány.',
  'auth.refresh-invalid': 'Vaše relace skončila. Přihlaste se prosím znovu.',
  'auth.refresh-reused':
    'Vaše relace byla z bezpečnostních důvodů ukončena. Přihlaste se prosím znovu.',
  'auth.account-exists':
    'Účet s touto adresou již existuje. Přihlaste se k němu a poskytovatele připojte tam.',
  'auth.account-disabled': 'Tento účet je pozastaven. Obraťte se prosím na podporu.',
  'auth.identity-last':
    'Jinak se přihlásit nemůžete. Nejprve si prosím nastavte heslo nebo přidejte přístupový klíč.',
  'auth.own-account': 'U vašeho vlastního účtu to musí provést jiný správce.',
  'auth.not-found': 'Toto neexistuje.',
} satisfies Partial<Catalogue>
