// Dispatch keys: for which tensors a kernel is.
#pragma once

#include "options.h"

TENSORLIKE_BEGIN(c10)

#define TENSORLIKE_FORALL_KEYS(_)                                                                                  \
  _(Undefined) _(CatchAll) _(CPU) _(CUDA) _(Meta) _(CompositeImplicitAutograd) _(CompositeExplicitAutograd)         \
  _(CompositeExplicitAutogradNonFunctional) _(BackendSelect) _(ADInplaceOrView) _(Autograd) _(AutogradCPU)          \
  _(AutogradCUDA) _(AutogradMeta) _(AutogradOther) _(Autocast) _(AutocastCPU) _(AutocastCUDA) _(AutocastMPS)        \
  _(AutocastXPU) _(Batched) _(FuncTorchBatched) _(Python) _(QuantizedCPU) _(QuantizedCUDA) _(SparseCPU)             \
  _(SparseCUDA) _(SparseCsrCPU) _(SparseCsrCUDA) _(MkldnnCPU) _(MPS) _(XPU) _(HIP) _(XLA) _(HPU) _(PrivateUse1)     \
  _(NestedTensorCPU) _(NestedTensorCUDA) _(AutogradPrivateUse1) _(ZeroTensor) _(Functionalize) _(Tracer)

enum class DispatchKey : uint8_t {
#define TENSORLIKE_ONE(name) name,
  TENSORLIKE_FORALL_KEYS(TENSORLIKE_ONE)
#undef TENSORLIKE_ONE
};
inline const char* toString(DispatchKey key) {
  static constexpr const char* names[] = {
#define TENSORLIKE_ONE(name) #name,
      TENSORLIKE_FORALL_KEYS(TENSORLIKE_ONE)
#undef TENSORLIKE_ONE
  };
  return names[static_cast<int>(key)];
}
inline std::ostream& operator<<(std::ostream& out, DispatchKey key) { return out << toString(key); }

// A set of keys. Kernels that take one as their first argument pass it on to `redispatch`, without the autograd keys.
class DispatchKeySet {
 public:
  enum Full { FULL };
  constexpr DispatchKeySet() = default;
  constexpr DispatchKeySet(Full) : bits_(~uint64_t(0)) {}
  constexpr DispatchKeySet(DispatchKey key) : bits_(uint64_t(1) << static_cast<int>(key)) {}
  constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {
    for (DispatchKey key : keys) bits_ |= DispatchKeySet(key).bits_;
  }
  constexpr bool has(DispatchKey key) const { return (bits_ & DispatchKeySet(key).bits_) != 0; }
  constexpr bool has_all(DispatchKeySet keys) const { return (bits_ & keys.bits_) == keys.bits_; }
  constexpr bool has_any(DispatchKeySet keys) const { return (bits_ & keys.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr DispatchKeySet operator|(DispatchKeySet other) const { return of_bits(bits_ | other.bits_); }
  constexpr DispatchKeySet operator&(DispatchKeySet other) const { return of_bits(bits_ & other.bits_); }
  constexpr DispatchKeySet operator-(DispatchKeySet other) const { return of_bits(bits_ & ~other.bits_); }
  constexpr DispatchKeySet add(DispatchKey key) const { return *this | DispatchKeySet(key); }
  constexpr DispatchKeySet remove(DispatchKey key) const { return *this - DispatchKeySet(key); }
  constexpr bool operator==(DispatchKeySet other) const { return bits_ == other.bits_; }

 private:
  static constexpr DispatchKeySet of_bits(uint64_t bits) {
    DispatchKeySet keys;
    keys.bits_ = bits;
    return keys;
  }
  uint64_t bits_ = 0;
};
constexpr DispatchKeySet autograd_dispatch_keyset{DispatchKey::Autograd, DispatchKey::AutogradCPU,
                                                  DispatchKey::AutogradCUDA, DispatchKey::AutogradMeta,
                                                  DispatchKey::AutogradOther};
constexpr DispatchKeySet autocast_dispatch_keyset{DispatchKey::Autocast, DispatchKey::AutocastCPU,
                                                  DispatchKey::AutocastCUDA};
constexpr DispatchKeySet after_autograd_keyset =
    DispatchKeySet(DispatchKeySet::FULL) - autograd_dispatch_keyset - autocast_dispatch_keyset;
constexpr DispatchKeySet after_ADInplaceOrView_keyset = after_autograd_keyset.remove(DispatchKey::ADInplaceOrView);

TENSORLIKE_END(c10)
