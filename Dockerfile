# One image for every process: the command says which. Build from an application's folder that has onefold.ts and a
# package.json with onefold in it, or from this repository, which then runs examples/shop.
FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN node scripts/build.mjs

FROM node:20-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build --chown=node:node /app ./
USER node
EXPOSE 8080
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["receiver", "--config", "examples/shop/onefold.ts"]
