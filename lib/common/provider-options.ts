/** The options of an entry of `loginWith`: one that is an instance of a class may have them in the class. */
export const providerOptions =
  'issuer clientId clientSecret clientAuth scope username link mfa userinfo authorizationEndpoint tokenEndpoint jwksUri userinfoEndpoint endSessionEndpoint oauth2 tenants claims responseMode redirectUri returnTo failureTo authorizationParams clockTolerance'.split(
    ' ',
  )
