import type { Catalogue } from '../types/messages.js'

export const fr = {
  'auth.invalid-credentials': 'Identifiants incorrects.',
  'auth.no-credentials-provided': 'L’en-tête d’authentification est absent ou non valide.',
  'auth.jwt-invalid': 'Votre jeton d’authentification n’est pas valide.',
  'auth.logged-out': 'Vous avez été déconnecté.',
  'auth.jwt-not-valid-yet': 'Votre jeton d’authentification n’est pas encore valide.',
  'auth.jwt-expired': 'Votre jeton d’authentification a expiré.',
  'auth.api-key-invalid': 'Votre clé d’API n’est pas valide.',
  'auth.api-key-expired': 'Votre clé d’API a expiré.',
  'auth.api-key-not-accepted': 'Cette route n’accepte pas les clés d’API.',
  'auth.credentials-not-accepted': 'Cette route n’accepte pas ces identifiants.',
  'auth.overloaded': 'Le serveur est surchargé. Veuillez réessayer plus tard.',
  'auth.too-many-attempts': 'Trop de tentatives infructueuses. Veuillez réessayer plus tard.',
  'auth.insufficient-authentication': 'Veuillez confirmer votre identité.',
  'auth.insufficient-scope': 'Vos identifiants ne permettent pas cette action.',
  'auth.forbidden': 'Vous n’êtes pas autorisé à faire cela.',
  'auth.cross-site': 'Les requêtes provenant d’autres sites ne sont pas acceptées.',
  'auth.token-delivery':
    'Les jetons dans le corps sont réservés aux clients qui ne sont pas des navigateurs.',
  'auth.refresh-invalid': 'Votre session est terminée. Veuillez vous reconnecter.',
  'auth.refresh-reused':
    'Votre session a été fermée pour votre sécurité. Veuillez vous reconnecter.',
  'auth.login-expired': 'Votre tentative de connexion a expiré. Veuillez réessayer.',
  'auth.login-failed': 'La connexion n’a pas abouti.',
  'auth.link-taken': 'Ce compte du fournisseur appartient à un autre utilisateur.',
  'auth.passkey-invalid': 'Cette clé d’accès n’a pas été acceptée. Veuillez réessayer.',
  'auth.passkey-last':
    'C’est votre seul moyen de connexion. Ajoutez d’abord un mot de passe ou une autre clé d’accès.',
  'auth.link-invalid': 'Ce lien n’est plus valide. Veuillez en demander un autre.',
  'auth.password-too-short':
    'Ce mot de passe est trop court. Veuillez utiliser au moins {minPasswordLength} caractères.',
  'auth.password-too-long': 'Ce mot de passe est trop long.',
  'auth.password-guessable': 'Ce mot de passe est facile à deviner. Veuillez en choisir un autre.',
  'auth.current-password': 'Le mot de passe actuel est incorrect.',
  'auth.too-many-mails': 'Trop d’e-mails ont été demandés. Veuillez réessayer plus tard.',
  'auth.code-invalid': 'Ce code est incorrect ou a déjà été utilisé.',
  'auth.mail-code-invalid':
    'Ce code est incorrect. Il ne fonctionne que là où l’e-mail a été demandé.',
  'auth.account-exists':
    'Il existe un compte avec cette adresse. Connectez-vous à ce compte, puis associez-y le fournisseur.',
  'auth.account-disabled': 'Ce compte est suspendu. Veuillez contacter l’assistance.',
  'auth.identity-last':
    'C’est votre seul moyen de vous connecter. Définissez d’abord un mot de passe ou une clé d’accès.',
  'auth.own-account': 'Pour votre propre compte, un autre administrateur doit le faire.',
  'auth.not-found': 'Cet élément n’existe pas.',
} satisfies Partial<Catalogue>
