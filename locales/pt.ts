import type { Catalogue } from '../types/messages.js'

export const pt = {
  'auth.invalid-credentials': 'Credenciais inválidas.',
  'auth.no-credentials-provided': 'Cabeçalho de autenticação inválido ou em falta.',
  'auth.jwt-invalid': 'O seu token de autenticação é inválido.',
  'auth.logged-out': 'A sua sessão foi encerrada.',
  'auth.jwt-not-valid-yet': 'O seu token de autenticação ainda não é válido.',
  'auth.jwt-expired': 'O seu token de autenticação expirou.',
  'auth.api-key-invalid': 'A sua chave de API é inválida.',
  'auth.api-key-expired': 'A sua chave de API expirou.',
  'auth.api-key-not-accepted': 'Esta rota não aceita chaves de API.',
  'auth.credentials-not-accepted': 'Esta rota não aceita estas credenciais.',
  'auth.overloaded': 'O servidor está sobrecarregado. Tente novamente mais tarde.',
  'auth.too-many-attempts': 'Demasiadas tentativas falhadas. Tente novamente mais tarde.',
  'auth.insufficient-authentication': 'Confirme a sua identidade.',
  'auth.insufficient-scope': 'As suas credenciais não permitem esta ação.',
  'auth.forbidden': 'Não tem permissão para fazer isto.',
  'auth.cross-site': 'Não são aceites pedidos de outros sites.',
  'auth.token-delivery':
    'Os tokens no corpo destinam-se apenas a clientes que não sejam navegadores.',
  'auth.refresh-invalid': 'A sua sessão terminou. Inicie sessão novamente.',
  'auth.refresh-reused':
    'A sua sessão foi terminada por motivos de segurança. Inicie sessão novamente.',
  'auth.login-expired': 'O seu início de sessão expirou. Tente novamente.',
  'auth.login-failed': 'Não foi possível iniciar sessão.',
  'auth.link-taken': 'Esta conta do fornecedor pertence a outro utilizador.',
  'auth.link-invalid': 'Esta ligação já não é válida. Peça uma nova.',
  'auth.password-too-short':
    'Esta palavra-passe é demasiado curta. Utilize pelo menos {minPasswordLength} caracteres.',
  'auth.password-too-long': 'Esta palavra-passe é demasiado longa.',
  'auth.password-guessable': 'Esta palavra-passe é fácil de adivinhar. Escolha outra.',
  'auth.current-password': 'A palavra-passe atual está incorreta.',
  'auth.too-many-mails': 'Foram pedidos demasiados e-mails. Tente novamente mais tarde.',
  'auth.passkey-invalid': 'Esta chave de acesso não foi aceite. Tente novamente.',
  'auth.passkey-last':
    'É a sua única forma de entrar. Defina primeiro uma palavra-passe ou adicione outra chave de acesso.',
  'auth.code-invalid': 'Este código está errado ou já foi utilizado.',
  'auth.mail-code-invalid':
    'Este código está errado. Só funciona onde o respetivo e-mail foi pedido.',
  'auth.account-exists':
    'Já existe uma conta com este endereço. Inicie sessão nela e associe aí o fornecedor.',
  'auth.account-disabled': 'Esta conta está suspensa. Contacte o apoio técnico.',
  'auth.identity-last':
    'Só assim pode iniciar sessão. Defina primeiro uma palavra-passe ou adicione uma chave de acesso.',
  'auth.own-account': 'Para a sua própria conta, outro administrador tem de o fazer.',
  'auth.not-found': 'Isto não existe.',
} satisfies Partial<Catalogue>
