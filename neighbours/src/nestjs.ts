import 'reflect-metadata'
import {
  Controller,
  createParamDecorator,
  Get,
  Injectable,
  Module,
  type ExecutionContext,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, RouteConfig, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { FastifyRequest } from 'fastify'
import authn, { configFromEnv, type AuthMark, type AuthUser } from 'fastify-authn'
import { users } from './users.js'

/** The access rule of a method. */
const Auth = (auth: AuthMark) => RouteConfig({ auth })

/** The authenticated user. */
const CurrentUser = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    context.switchToHttp().getRequest<FastifyRequest>().user,
)

@Controller('notes')
class NotesController {
  @Get()
  @Auth(true)
  list(@CurrentUser() user: AuthUser) {
    return [`a note of ${user.name}`]
  }

  @Get('drafts')
  @Auth({ role: 'editor' })
  drafts() {
    return []
  }

  @Get('count')
  @Auth(false)
  count() {
    return { notes: 1 }
  }
}

@Injectable()
class UsersService {
  findByUsername(username: string | number) {
    return users.findByUsername(username)
  }
}

@Module({ controllers: [NotesController], providers: [UsersService] })
class AppModule {}

export async function createApp() {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter())
  // Not app.register(), whose types know less.
  const fastify = app.getHttpAdapter().getInstance()
  await fastify.register(authn, {
    ...configFromEnv(),
    userService: app.get<UsersService>(UsersService),
    requireMarks: { middleware: true },
    errorBody: ({ statusCode, message }) => ({ statusCode, message }),
  })
  return app
}
