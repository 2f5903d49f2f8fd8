import type { Catalogue } from '../types/messages.js'

export const es = {
  'auth.invalid-credentials': 'Las credenciales no son válidas.',
  'auth.no-credentials-provided': 'Falta el encabezado de autenticación o no es válido.',
  'auth.jwt-invalid': 'Su token de autenticación no es válido.',
  'auth.logged-out': 'Se ha cerrado su sesión.',
  'auth.jwt-not-valid-yet': 'Su token de autenticación aún no es válido.',
  'auth.jwt-expired': 'Su token de autenticación ha caducado.',
  'auth.api-key-invalid': 'Su clave de API no es válida.',
  'auth.api-key-expired': 'Su clave de API ha caducado.',
  'auth.api-key-not-accepted': 'Esta ruta no acepta claves de API.',
  'auth.credentials-not-accepted': 'Esta ruta no acepta estas credenciales.',
  'auth.overloaded': 'El servidor está sobrecargado. Inténtelo de nuevo más tarde.',
  'auth.too-many-attempts': 'Demasiados intentos fallidos. Inténtelo de nuevo más tarde.',
  'auth.insufficient-authentication': 'Por favor, confirme su identidad.',
  'auth.insufficient-scope': 'Sus credenciales no permiten esta acción.',
  'auth.forbidden': 'No tiene permiso para hacer esto.',
  'auth.cross-site': 'No se aceptan solicitudes de otros sitios web.',
  'auth.token-delivery': 'Los tokens en el cuerpo son solo para clientes que no sean navegadores.',
  'auth.refresh-invalid': 'Su sesión ha terminado. Inicie sesión de nuevo.',
  'auth.refresh-reused': 'Su sesión se cerró por su seguridad. Inicie sesión de nuevo.',
  'auth.login-expired': 'Su inicio de sesión ha caducado. Inténtelo de nuevo.',
  'auth.login-failed': 'No se ha podido iniciar sesión.',
  'auth.link-taken': 'Esta cuenta del proveedor pertenece a otro usuario.',
  'auth.passkey-invalid': 'Esta llave de acceso no fue aceptada. Inténtelo de nuevo.',
  'auth.passkey-last':
    'Es su única forma de iniciar sesión. Añada antes una contraseña u otra llave de acceso.',
  'auth.link-invalid': 'Este enlace ya no es válido. Solicite uno nuevo.',
  'auth.password-too-short':
    'Esta contraseña es demasiado corta. Use al menos {minPasswordLength} caracteres.',
  'auth.password-too-long': 'Esta contraseña es demasiado larga.',
  'auth.password-guessable': 'Esta contraseña es fácil de adivinar. Elija otra.',
  'auth.current-password': 'La contraseña actual no es correcta.',
  'auth.too-many-mails':
    'Se han solicitado demasiados correos electrónicos. Inténtelo de nuevo más tarde.',
  'auth.code-invalid': 'Este código es incorrecto o ya se ha utilizado.',
  'auth.mail-code-invalid':
    'Este código es incorrecto. Solo sirve donde se solicitó el correo que lo contiene.',
  'auth.account-exists':
    'Ya existe una cuenta con esta dirección. Inicie sesión en ella y conecte allí el proveedor.',
  'auth.account-disabled':
    'Esta cuenta está suspendida. Póngase en contacto con el servicio de asistencia.',
  'auth.identity-last':
    'Es su única forma de iniciar sesión. Establezca primero una contraseña o añada una llave de acceso.',
  'auth.own-account': 'Para su propia cuenta, esto debe hacerlo otro administrador.',
  'auth.not-found': 'Esto no existe.',
} satisfies Partial<Catalogue>
