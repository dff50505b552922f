// c10::intrusive_ptr, and the base of classes that Python can hold.
#pragma once

#include "ivalue.h"

#include <typeindex>

TENSORLIKE_BEGIN(c10)

// An object that counts its own references.
class intrusive_ptr_target {
 public:
  intrusive_ptr_target() noexcept = default;
  intrusive_ptr_target(const intrusive_ptr_target&) noexcept {}
  intrusive_ptr_target& operator=(const intrusive_ptr_target&) noexcept { return *this; }
  virtual ~intrusive_ptr_target() = default;

 private:
  template <class T>
  friend class intrusive_ptr;
  virtual void release_resources() {}
  mutable std::atomic<size_t> references_{0};
};

template <class T>
class intrusive_ptr final {
 public:
  using element_type = T;
  intrusive_ptr() noexcept = default;
  intrusive_ptr(std::nullptr_t) noexcept {}
  explicit intrusive_ptr(std::unique_ptr<T> object) noexcept : intrusive_ptr(object.release()) {}
  intrusive_ptr(const intrusive_ptr& other) noexcept : intrusive_ptr(other.object_) {}
  intrusive_ptr(intrusive_ptr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  intrusive_ptr(const intrusive_ptr<U>& other) noexcept : intrusive_ptr(static_cast<T*>(other.get())) {}
  intrusive_ptr& operator=(intrusive_ptr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~intrusive_ptr() { reset(); }

  template <class... A>
  static intrusive_ptr make(A&&... arguments) {
    return intrusive_ptr(new T(std::forward<A>(arguments)...));
  }
  // Share an object that is held already.
  static intrusive_ptr reclaim_copy(T* object) { return intrusive_ptr(object); }
  static intrusive_ptr unsafe_reclaim_from_nonowning(T* object) { return intrusive_ptr(object); }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  bool defined() const noexcept { return object_ != nullptr; }
  size_t use_count() const noexcept { return object_ == nullptr ? 0 : object_->references_.load(); }
  bool unique() const noexcept { return use_count() == 1; }
  void reset() noexcept {
    T* object = std::exchange(object_, nullptr);
    if (object != nullptr && object->references_.fetch_sub(1) == 1) delete object;
  }
  friend bool operator==(const intrusive_ptr& a, const intrusive_ptr& b) { return a.object_ == b.object_; }
  friend bool operator!=(const intrusive_ptr& a, const intrusive_ptr& b) { return a.object_ != b.object_; }

 private:
  explicit intrusive_ptr(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->references_.fetch_add(1);
  }
  T* object_ = nullptr;
};
template <class T, class... A>
intrusive_ptr<T> make_intrusive(A&&... arguments) {
  return intrusive_ptr<T>::make(std::forward<A>(arguments)...);
}
template <class T>
intrusive_ptr<T> static_intrusive_pointer_cast(const intrusive_ptr<T>& pointer) {
  return pointer;
}

TENSORLIKE_END(c10)
