// The types of @fastify/swagger add to the same interfaces of Fastify: the program compiles app/generics.ts beside them.
import '@fastify/swagger'
