// Nest on Express with a guard around its JwtService, as its documentation shows it. Its decorators are
// called by hand, so that nothing has to be compiled.
import 'reflect-metadata'
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Req,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { JwtModule, JwtService } from '@nestjs/jwt'
import { secretOrKey } from './secret.mjs'
import { findUser, serve, user0 } from './serve.mjs'

class AuthGuard {
  constructor(jwtService) {
    this.jwtService = jwtService
  }

  async canActivate(context) {
    const request = context.switchToHttp().getRequest()
    const [type, token] = request.headers.authorization?.split(' ') ?? []
    if (type !== 'Bearer') throw new UnauthorizedException()
    let claims
    try {
      claims = await this.jwtService.verifyAsync(token, { algorithms: ['HS256'] })
    } catch {
      throw new UnauthorizedException()
    }
    request.user = await findUser(claims.sub)
    if (request.user === undefined) throw new UnauthorizedException()
    return true
  }
}
Injectable()(AuthGuard)
Inject(JwtService)(AuthGuard, undefined, 0)

class AppController {
  async open() {
    return { name: user0.name }
  }

  async protected(request) {
    return { name: request.user.name }
  }
}
const routes = AppController.prototype
const descriptorOf = (name) => Object.getOwnPropertyDescriptor(routes, name)
Controller()(AppController)
Get('open')(routes, 'open', descriptorOf('open'))
Get('protected')(routes, 'protected', descriptorOf('protected'))
Req()(routes, 'protected', 0)
UseGuards(AuthGuard)(routes, 'protected', descriptorOf('protected'))

class AppModule {}
Module({
  imports: [JwtModule.register({ secret: secretOrKey })],
  controllers: [AppController],
  providers: [AuthGuard],
})(AppModule)

const app = await NestFactory.create(AppModule, { logger: ['error'], abortOnError: false })
await app.listen(0, '127.0.0.1')
serve(app.getHttpServer().address().port)
