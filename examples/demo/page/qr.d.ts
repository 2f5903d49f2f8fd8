// The demo serves it from the package.
export * from 'qr'
export { default } from 'qr'
